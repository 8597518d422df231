// SPDX-License-Identifier: MIT
#include "mutants.hpp"

#include "emulated.hpp"

namespace fuseplan::test {
namespace {

constexpr std::uint64_t kOrders = 4;

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
  c.launch(handle.get());
  const fuseplanStatus_t status = fuseplanSynchronize(handle.get());
  const std::string said = status == fuseplanStatusSuccess ? "" : fuseplanGetLastErrorMessage();
  emulator::reset();
  return {!c.compare().ok(), said};
}

/// What is wrong with how the mistake was noticed.
std::string try_out(const Mutant& mutant) {
  for (std::uint64_t order = 0; order < kOrders; ++order) {
    const auto [wrong, said] = run(mutant, test_seed() + order);
    if (said.empty() && !wrong) continue;
    if (mutant.word == nullptr)
      return said.empty() ? "" : "expected a wrong result and not the words: " + said;
    if (said.find(mutant.word) != said.npos) return "";
    return std::string("expected the words \"") + mutant.word + "\" and not \"" + said + '"';
  }
  return "survived " + std::to_string(kOrders) + " orders of threads";
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Mutant& mutant) {
  return stream << mutant.name;
}

void expect_noticed(const Mutant& mutant, const ChildLimits& limits) {
  const ChildResult result = run_in_child([&] { return try_out(mutant); }, limits);
  EXPECT_EQ(result.problem, "") << mutant.name << "'s process";
  EXPECT_EQ(result.said, "") << mutant.name << ", seed " << test_seed();
}

}  // namespace fuseplan::test
