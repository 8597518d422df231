// SPDX-License-Identifier: MIT
#include "mutants.hpp"

#include "emulated.hpp"

namespace fuseplan::test {

std::ostream& operator<<(std::ostream& stream, const Mutant& mutant) {
  return stream << mutant.name;
}

namespace {

struct Seen {
  bool wrong;
  std::string said;
};
Seen run(const Mutant& mutant, std::uint64_t seed) {
  emulator::reset();
  emulator::set_seed(seed);
  emulator::mutate(mutant.from, mutant.to);
  // No cache: its keys know the source that the library gave, not the changed one.
  const Handle handle = emulated_handle((std::string("--cache=off ") + mutant.options).c_str());
  EmulatedCase c(driver::parse_problem(mutant.problem));
  c.compile(handle.get());
  const fuseplanStatus_t status =
      fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), c.input().data(), c.output_desc(),
                          c.output().data(), c.args());
  emulator::reset();
  const std::string said = status == fuseplanStatusSuccess ? "" : fuseplanGetLastErrorMessage();
  return {!c.compare().ok(), said};
}

}  // namespace

void expect_noticed(const Mutant& mutant) {
  constexpr std::uint64_t kOrders = 4;
  for (std::uint64_t order = 0; order < kOrders; ++order) {
    const auto [wrong, said] = run(mutant, test_seed() + order);
    if (!wrong && said.empty()) continue;
    if (mutant.word == nullptr) {
      EXPECT_EQ(said, "") << "expected a wrong result";
    } else {
      EXPECT_NE(said.find(mutant.word), std::string::npos) << said;
    }
    return;
  }
  ADD_FAILURE() << "survived " << kOrders << " orders of threads, seed " << test_seed();
}

}  // namespace fuseplan::test
