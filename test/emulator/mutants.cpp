// SPDX-License-Identifier: MIT
#include "mutants.hpp"

#include "emulated.hpp"

namespace fuseplan::test {

std::ostream& operator<<(std::ostream& stream, const Mutant& mutant) {
  return stream << mutant.name;
}

void expect_noticed(const Mutant& mutant) {
  emulator::reset();
  emulator::set_seed(test_seed());
  emulator::mutate(mutant.from, mutant.to);
  // No cache: its keys know the source that the library gave, not the changed one.
  const Handle handle = emulated_handle((std::string("--cache=off ") + mutant.options).c_str());
  EmulatedCase c(driver::parse_problem(mutant.problem));
  c.compile(handle.get());
  c.launch(handle.get());
  const fuseplanStatus_t status = fuseplanSynchronize(handle.get());
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
