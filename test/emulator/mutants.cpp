// SPDX-License-Identifier: MIT
#include "mutants.hpp"

#include "emulated.hpp"

namespace fuseplan::test {

void expect_noticed(const Mutant& mutant) {
  emulator::reset();
  emulator::mutate(mutant.from, mutant.to);
  // No cache: its keys know the source that the library gave, not the changed one.
  std::string options = "--cache=off";
  if (*mutant.pin != 0) options += std::string(" --pin=") + mutant.pin;
  const Handle handle = emulated_handle(options.c_str());
  EmulatedCase c(driver::parse_problem(mutant.problem));
  c.compile(handle.get());
  const fuseplanStatus_t status =
      fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), c.input().data(), c.output_desc(),
                          c.output().data(), c.args());
  emulator::reset();
  const std::string said = status == fuseplanStatusSuccess ? "" : fuseplanGetLastErrorMessage();
  const bool wrong = !c.compare().ok();
  EXPECT_TRUE(wrong || !said.empty()) << "survived";
  if (mutant.word == nullptr) {
    EXPECT_EQ(said, "") << "expected a wrong result";
  } else {
    EXPECT_NE(said.find(mutant.word), std::string::npos) << said;
  }
}

}  // namespace fuseplan::test
