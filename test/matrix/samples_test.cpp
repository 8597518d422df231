// SPDX-License-Identifier: MIT
// Every solver on its own samples, in every type and layout, at every level, pinned so that no
// other solver can stand in for it.
#include <cstdio>

#include "matrix.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

/// Levels and types that a solver is written for; both layouts are required of all.
struct Reach {
  int levels, types;  ///< of portable, avx2 and avx512
  int left = 0;       ///< forms that it may leave to a solver that is faster on this machine
  int more = 0;       ///< forms of another level that a sample may have
};
Reach reach_of(std::string_view id, bool integer) {
  const int pairs = cpu::host_extensions().fast_bf16 ? 2 : 0;
  // Elsewhere the highest level is AVX2 once more.
  const bool wide = cpu::host_isa() == cpu::Isa::avx512;
  const int types = integer ? 2 : 3;
  const std::pair<std::string_view, Reach> others[] = {
      {"cpu_portable", {3, 3}},
      {"cpu_statistics", {3, 3}},
      // On AVX2 with channels first, and with channels last groups that fill vectors.
      {"cpu_grouped",
       wide ? Reach{1, types, -types, 2 * types} : Reach{0, types, -2 * types, 4 * types}},
      // bf16 at the highest level goes to the direct kernel's pairs.
      {"cpu_conv1x1", {2, 3, pairs}},
      // Where loads take as long as multiply-adds, on AVX2 on every core, samples may gain too
      // little.
      {"cpu_strassen", {2, 3, wide && cpu::host_family() == "zen4" ? pairs + 6 : 12}},
      {"cpu_winograd", {2, 3, pairs}},
      {"cpu_stem", {2, 3, pairs}},
      // f32 and f16 are split into pieces, which small samples do not gain by.
      {"cpu_matrix", {wide ? 1 : 0, types, integer ? 0 : 4}},
  };
  for (const auto& [name, reach] : others)
    if (name == id) return reach;
  return {2, types};
}

/// Samples over integers stay what they are.
const std::vector<fuseplanDataType_t>& types_of(const ProblemSpec& problem) {
  return driver::is_integer(problem.input.type) ? kIntegers : kTypes;
}

class Samples : public testing::TestWithParam<SolverSample> {};

TEST_P(Samples, EveryTypeLayoutAndLevel) {
  const auto& [solver, index, text] = GetParam();
  const ProblemSpec original = driver::parse_problem(text);
  int run = 0, asked = 0;
  const std::vector<std::string>& levels =
      driver::is_integer(original.input.type) ? kByteLevels : kLevels;
  for (const std::string& level : levels) {
    const Handle handle = handle_at(level);
    for (fuseplanDataType_t type : types_of(original)) {
      for (bool channels_last : {false, true}) {
        const ProblemSpec problem = converted(original, type, channels_last);
        SCOPED_TRACE(driver::to_text(problem) + " at " + level);
        Case c(problem, {.stream = static_cast<std::uint64_t>(++asked)});
        if (!is_taken(c, *solver, handle.get())) continue;
        expect_right(c, handle.get());
        ++run;
      }
    }
  }
  std::printf("%s: %d of %d forms run\n", std::string(solver->id()).c_str(), run, asked);
  // Samples show what a solver takes: each must run in all forms on the levels and in the types the
  // solver has, and in no others but those of `more`.
  const Reach reach = reach_of(solver->id(), driver::is_integer(original.input.type));
  // What has kernels for a set has them where its extensions are allowed, too; AMX's are there
  // alone.
  const int beyond = solver->id() == "cpu_matrix" ? 0 : static_cast<int>(levels.size()) - 3;
  const int all = (reach.levels + beyond) * reach.types * 2;
  EXPECT_LE(run, all + reach.more);
  EXPECT_GE(run, all - reach.left);
}

INSTANTIATE_TEST_SUITE_P(AllSolvers, Samples, testing::ValuesIn(samples_on("cpu")),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace fuseplan::test
