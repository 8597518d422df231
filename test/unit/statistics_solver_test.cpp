// SPDX-License-Identifier: MIT
// The solver that runs others inside: which of them it may.
#include <gtest/gtest.h>

#include <algorithm>

#include "expr/passes.hpp"
#include "kernels/cpu/statistics/recipe.hpp"
#include "solve/solver.hpp"

namespace fuseplan {
namespace {

class StatisticsSolver : public testing::Test {
 protected:
  const Problem problem_ =
      parse_problem("f32:2x8x9x9:nchw;conv(f32:8x8x3x3);statistics(f32:1x8x1x1)");
  const SplitChain chain_ = optimize(lower(problem_), {});
  const Traits traits_{"cpu", cpu::Isa::avx512};

  bool uses(const char* solver, const SolverFilter& filter) const {
    const Question question{problem_, chain_, traits_, &filter};
    const auto configs = find_solver("cpu_statistics")->configs(question);
    return std::any_of(configs.begin(), configs.end(), [&](const std::string& config) {
      return config.starts_with(std::string(solver) + "/");
    });
  }
};

TEST_F(StatisticsSolver, LeavesSwitchedOffSolversAlone) {
  EXPECT_TRUE(uses("cpu_direct", {}));
  EXPECT_TRUE(uses("cpu_portable", {}));
  SolverFilter filter;
  filter.disabled = {"cpu_direct"};
  EXPECT_FALSE(uses("cpu_direct", filter));
  EXPECT_TRUE(uses("cpu_portable", filter));
}

// Kernels inside leave in the caches what is read again there, unless memory is where it goes
// anyway.
TEST(StatisticsOutput, StaysInTheCachesIfTheyMayKeepIt) {
  const auto is_kept = [](const char* text) {
    const Problem problem = parse_problem(text);
    return cpu::FewImages(problem, optimize(lower(problem), {})).chain.output_is_reread;
  };
  EXPECT_TRUE(is_kept("f32:4x96x112x112:nhwc;activation(relu);statistics(f32:1x96x1x1)"));
  EXPECT_FALSE(is_kept("f32:16x256x56x56:nhwc;activation(relu);statistics(f32:1x256x1x1)"));
}

TEST_F(StatisticsSolver, RefusesWithoutAnyOther) {
  SolverFilter filter;
  for (const Solver* solver : all_solvers())
    if (solver->id() != "cpu_statistics") filter.disabled.emplace_back(solver->id());
  const Selection selection = select_solvers({problem_, chain_, traits_, &filter}, {});
  EXPECT_TRUE(std::none_of(selection.accepted.begin(), selection.accepted.end(),
                           [](const Solver* solver) { return solver->id() == "cpu_statistics"; }));
}

}  // namespace
}  // namespace fuseplan
