// SPDX-License-Identifier: MIT
// Whatever a search may choose is right: every configuration of every solver on its own samples.
#include <cstdio>

#include "kernels/cpu/isa.hpp"
#include "matrix.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

struct Large {
  const char *solver, *problem;
};
// Large enough for blocks, chunks and copies to differ.
const Large kLarge[] = {
    {"cpu_direct",
     "f32:1x80x20x40:nhwc;conv(f32:72x80x3x3,pad=1x1);bias(f32:1x72x1x1);activation(relu)"},
    {"cpu_direct", "f32:1x256x13x14:nhwc;conv(f32:49x256x1x1,stride=2x2);add(f32:1x49x7x7:nhwc)"},
    {"cpu_direct",
     "f32:1x70x33x19:nchw;conv(f32:65x70x3x3,pad=2x2,dilation=2x2,stride=1x2);activation(silu)"},
    {"cpu_conv1x1",
     "f32:2x120x27x19:nchw;conv(f32:150x40x1x1,groups=3);add(f32:2x150x27x19);activation(silu)"},
    {"cpu_pointwise", "f32:2x40x101x57:nhwc;norm(spatial,f32:1x40x1x1);activation(gelu_tanh)"},
    {"cpu_pointwise", "f16:3x200x67x29:nhwc;bias(f32:1x200x1x1);add(f16:3x200x67x29:nchw)"},
    {"cpu_norm", "f32:3x129x71x23:nhwc;norm_training(spatial,f32:1x129x1x1);activation(relu)"},
    {"cpu_norm", "f32:40x33x31x23:nchw;norm_training(spatial,f32:1x33x1x1,running)"},
};

// Chains that take more registers than the last tile of a row has besides those of a whole one.
const char* const kNarrowTiles[] = {
    "f32:2x6x12x8:nhwc;conv(f32:6x1x1x6:nhwc,stride=2x1,groups=6,pad=0x4);activation(power)",
    "f16:2x9x33x26:nhwc;conv(f16:9x1x6x1:nhwc,stride=1x3,dilation=2x1,groups=9,pad=3x0);"
    "norm(spatial,bf16:9)",
};

/// Samples, and problems large enough for every configuration to differ.
std::vector<SolverSample> samples_and_large() {
  std::vector<SolverSample> samples = samples_on("cpu");
  int number = 100;
  for (const Large& row : kLarge)
    samples.push_back({find_solver(row.solver), number++, row.problem});
  for (int i = 0; i < 2; ++i)
    samples.push_back({find_solver("cpu_depthwise"), 50 + i, kNarrowTiles[i]});
  return samples;
}

class EveryCandidate : public testing::TestWithParam<SolverSample> {};

/// Elsewhere some solvers have no kernel for a sample, or a model that sees no gain in it.
bool has_all_sets() { return cpu::host_isa() == cpu::Isa::avx512; }

/// Runs each candidate of the solver, on one thread, two or three. Returns how many there are.
int run_candidates(const Solver& solver, const std::string& level, Case& c) {
  const Handle asked = handle_at(level);
  driver::check(fuseplanPlanSetSolver(c.plan(), std::string(solver.id()).c_str()));
  int run = 0;
  for (const fuseplanCandidate_t& row : candidates_of(asked.get(), c.plan())) {
    expect_right(c, level, row, 1 + run % 3);
    ++run;
  }
  return run;
}

TEST_P(EveryCandidate, IsRight) {
  const auto& [solver, index, text] = GetParam();
  int all = 0;
  for (const std::string& level : kLevels) {
    Case c(driver::parse_problem(text), {.stream = 77});
    const int run = run_candidates(*solver, level, c);
    all += run;
    const bool large = index >= 100 && level != "portable";
    const int least = solver->algorithm() == Algorithm::none ? 2 : 7;
    EXPECT_TRUE(!large || run >= least) << run;
    std::printf("%s %s: %d candidates\n", std::string(solver->id()).c_str(), level.c_str(), run);
  }
  EXPECT_TRUE(all > 0 || !has_all_sets()) << "no level has a candidate";
}

INSTANTIATE_TEST_SUITE_P(AllSolvers, EveryCandidate, testing::ValuesIn(samples_and_large()),
                         [](const auto& info) { return info.param.name(); });

/// Those whose result a tensor of its kind can be added to.
std::vector<SolverSample> samples_with_residual() {
  std::vector<SolverSample> samples = samples_and_large();
  std::erase_if(samples, [](const SolverSample& sample) {
    const ProblemSpec problem = driver::parse_problem(sample.text);
    return driver::is_integer(problem.result().type) ||
           problem.ops.back().kind == driver::OpKind::norm_backward;
  });
  return samples;
}

class EveryCandidateInPlace : public testing::TestWithParam<SolverSample> {};

TEST_P(EveryCandidateInPlace, OfAResidual) {
  const ProblemSpec problem = with_residual(driver::parse_problem(GetParam().text));
  int all = 0;
  for (const std::string& level : kLevels) {
    Case c(problem, {.stream = 78, .in_place = true});
    all += run_candidates(*GetParam().solver, level, c);
  }
  EXPECT_TRUE(all > 0 || !has_all_sets()) << "no level has a candidate";
}

INSTANTIATE_TEST_SUITE_P(AllSolvers, EveryCandidateInPlace,
                         testing::ValuesIn(samples_with_residual()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace fuseplan::test
