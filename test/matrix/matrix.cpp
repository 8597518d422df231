// SPDX-License-Identifier: MIT
#include "matrix.hpp"

#include <algorithm>
#include <cstdio>

namespace fuseplan::test {
namespace {

bool is_packed(const driver::TensorSpec& tensor) {
  return tensor.strides == driver::packed_strides(tensor.lens, false) ||
         tensor.strides == driver::packed_strides(tensor.lens, true);
}

void convert(driver::TensorSpec& tensor, fuseplanDataType_t type, bool channels_last) {
  tensor.type = type;
  if (is_packed(tensor)) tensor.strides = driver::packed_strides(tensor.lens, channels_last);
}

// An output of another kind than the input's is the point of a problem, and stays.
fuseplanDataType_t output_type(const ProblemSpec& problem, fuseplanDataType_t type) {
  return driver::is_integer(problem.output.type) == driver::is_integer(type) ? type
                                                                             : problem.output.type;
}

}  // namespace

ProblemSpec converted(ProblemSpec problem, fuseplanDataType_t type, bool channels_last) {
  convert(problem.input, type, channels_last);
  if (problem.output.rank() > 0) convert(problem.output, output_type(problem, type), channels_last);
  for (driver::OpSpec& op : problem.ops) {
    if (op.kind == driver::OpKind::conv)
      convert(op.tensor, driver::is_integer(type) ? fuseplanInt8 : type, channels_last);
    if (op.kind == driver::OpKind::add) convert(op.tensor, type, channels_last);
    if (op.kind == driver::OpKind::norm || op.kind == driver::OpKind::norm_training ||
        op.kind == driver::OpKind::norm_backward)
      convert(op.tensor, op.tensor.type, channels_last);
    if (op.source.rank() > 0) convert(op.source, type, channels_last);
  }
  return problem;
}

ProblemSpec with_chain(const ConvProblem& row, const std::string& chain) {
  ProblemSpec problem;
  problem.name = row.name;
  problem.input = driver::packed(fuseplanFloat, {row.n, row.c, row.h, row.w}, false);
  driver::OpSpec conv;
  conv.kind = driver::OpKind::conv;
  conv.tensor = driver::packed(fuseplanFloat, {row.k, row.c / row.groups, row.r, row.s}, false);
  conv.pad_lo = conv.pad_hi = {row.pad_h, row.pad_w};
  conv.stride = {row.stride_h, row.stride_w};
  conv.dilation = {row.dil_h, row.dil_w};
  conv.groups = row.groups;
  problem.ops.push_back(conv);
  const std::string k = std::to_string(row.k);
  const std::string tail = "f32:1x" + k + "x1x1:nchw;";
  const auto rest = driver::parse_problem(tail + chain);
  for (driver::OpSpec op : rest.ops) {
    if (op.kind == driver::OpKind::add)
      op.tensor = driver::packed(fuseplanFloat, problem.output_lens(), false);
    if (op.kind == driver::OpKind::bias || op.kind == driver::OpKind::norm ||
        op.kind == driver::OpKind::scale_shift || op.kind == driver::OpKind::statistics)
      op.tensor = driver::packed(fuseplanFloat, {1, row.k, 1, 1}, false);
    problem.ops.push_back(op);
  }
  return problem;
}

ProblemSpec with_residual(ProblemSpec problem) {
  driver::OpSpec add;
  add.kind = driver::OpKind::add;
  add.tensor = problem.result();
  const auto is_it = [&](const driver::OpSpec& op) {
    return op.kind == add.kind && op.tensor == add.tensor;
  };
  if (std::ranges::any_of(problem.ops, is_it)) return problem;
  const bool sums = problem.ops.back().kind == driver::OpKind::statistics;
  problem.ops.insert(problem.ops.end() - (sums ? 1 : 0), add);
  return problem;
}

std::string SolverSample::name() const {
  return std::string(solver->id()) + "_" + std::to_string(index);
}

std::ostream& operator<<(std::ostream& stream, const SolverSample& sample) {
  return stream << sample.solver->id() << ": " << sample.text;
}

namespace {

/// Whether this machine lacks what the solver is for; if so, says it.
bool cannot_run(const Solver& solver) {
  const cpu::Extensions has = cpu::host_extensions();
  const bool missing = solver.id() == "cpu_matrix" && !(has.tiles_bf16 && has.tiles_int8);
  if (missing) std::printf("NOT TESTED: cpu_matrix, for which this machine has no AMX tiles\n");
  return missing;
}

}  // namespace

std::vector<SolverSample> samples_on(std::string_view backend) {
  std::vector<SolverSample> samples;
  for (const Solver* solver : all_solvers()) {
    if (solver->backend() != backend || cannot_run(*solver)) continue;
    int index = 0;
    for (const std::string& text : solver->samples()) samples.push_back({solver, index++, text});
  }
  return samples;
}

bool is_taken(Case& c, const Solver& solver, fuseplanHandle_t handle) {
  driver::check(fuseplanPlanSetSolver(c.plan(), std::string(solver.id()).c_str()));
  fuseplanFusionSupport_t support = {};
  support.structSize = sizeof support;
  driver::check(fuseplanQueryFusionSupport(handle, c.plan(), &support));
  if (support.fused != 0) {
    EXPECT_EQ(std::string(support.solver), solver.id());
    return true;
  }
  int reasons = 0;
  driver::check(fuseplanPlanGetRejections(handle, c.plan(), 0, &reasons, nullptr));
  EXPECT_GT(reasons, 0) << "refused without a reason";
  return false;
}

void expect_right(Case& c, fuseplanHandle_t handle) {
  c.compile(handle);
  c.execute(handle);
  const Comparison comparison = c.compare();
  EXPECT_TRUE(comparison.ok()) << comparison.describe();
}

std::vector<fuseplanCandidate_t> candidates_of(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  int count = 0;
  driver::check(fuseplanPlanGetCandidates(handle, plan, 0, &count, nullptr));
  std::vector<fuseplanCandidate_t> rows(static_cast<std::size_t>(count));
  if (count > 0) rows[0].structSize = sizeof rows[0];
  driver::check(fuseplanPlanGetCandidates(handle, plan, count, &count, rows.data()));
  return rows;
}

void expect_right(Case& c, const std::string& level, const fuseplanCandidate_t& candidate,
                  int threads) {
  SCOPED_TRACE(std::string(candidate.solver) + " " + candidate.config + " at " + level + " on " +
               std::to_string(threads) + " threads");
  const Handle handle = handle_at(level);
  const std::string pin = std::string("--pin=") + candidate.solver + ":" + candidate.config;
  driver::check(fuseplanSetOptions(handle.get(), pin.c_str()));
  driver::check(fuseplanSetThreadCount(handle.get(), threads));
  c.reset_output();
  expect_right(c, handle.get());
}

void expect_right(const ProblemSpec& problem, const std::string& level,
                  const CaseOptions& options) {
  SCOPED_TRACE(driver::to_text(problem) + " at " + level + ", seed " + std::to_string(test_seed()) +
               ", stream " + std::to_string(options.stream));
  try {
    const Handle handle = handle_at(level);
    Case c(problem, options);
    expect_right(c, handle.get());
    EXPECT_EQ(c.input().damage(), "");
  } catch (const driver::ApiError& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace fuseplan::test
