// SPDX-License-Identifier: MIT
// What a chain reads and stores in another layout, or of another kind, than the solver's own
// samples: operands in NHWC beside an NCHW output and the other way round, 8-bit outputs and
// residuals behind real factors. Pinned, so that no other solver can stand in.
#include <cstdio>

#include "matrix.hpp"

namespace fuseplan::test {
namespace {

struct Mix {
  const char* name;
  bool operands;  ///< in another layout
  bool output;    ///< in another layout
  bool bytes;     ///< output and residual
};
constexpr Mix kMixes[] = {{"operands in another layout", true, false, false},
                          {"output in another layout", false, true, false},
                          {"bytes", false, false, true},
                          {"bytes and operands in another layout", true, false, true}};

bool has(const ProblemSpec& problem, driver::OpKind kind) {
  return std::ranges::any_of(problem.ops,
                             [&](const driver::OpSpec& op) { return op.kind == kind; });
}

bool takes_sums_over_the_batch(const ProblemSpec& problem) {
  return has(problem, driver::OpKind::norm_training) ||
         has(problem, driver::OpKind::norm_backward) || has(problem, driver::OpKind::statistics);
}

bool applies(const Mix& mix, const ProblemSpec& problem) {
  return !mix.bytes ||
         (!driver::is_integer(problem.input.type) && !takes_sums_over_the_batch(problem));
}

/// Statistics of each element, which are found and written where they lie.
bool is_statistics(const driver::OpSpec& op) {
  return op.kind == driver::OpKind::norm_training || op.kind == driver::OpKind::norm_backward;
}

ProblemSpec mixed(ProblemSpec problem, const Mix& mix, bool channels_last,
                  fuseplanDataType_t byte) {
  problem.output = problem.result();
  if (mix.bytes) problem.output.type = byte;
  // Nothing may stand behind norm_backward, whose sources are operands enough.
  if (!has(problem, driver::OpKind::norm_backward)) problem = with_residual(problem);
  const auto turn = [&](driver::TensorSpec& tensor) {
    if (tensor.rank() == problem.output.rank())
      tensor.strides = driver::packed_strides(tensor.lens, !channels_last);
  };
  if (mix.output) turn(problem.output);
  for (driver::OpSpec& op : problem.ops) {
    if (!mix.operands) break;
    if (op.kind != driver::OpKind::conv && !is_statistics(op)) turn(op.tensor);
    turn(op.source);
  }
  return problem;
}

/// Statistics of each element are found along the axes that all tensors have in common.
bool has_statistics_by_element(const ProblemSpec& problem) {
  return std::ranges::any_of(problem.ops, [](const driver::OpSpec& op) {
    return is_statistics(op) && op.norm_mode == fuseplanBNPerActivation;
  });
}

/// Some kernels with a convolution want their output as their input is.
bool may_refuse(const Mix& mix, const ProblemSpec& problem, std::string_view solver) {
  constexpr std::string_view kAlike[] = {"cpu_grouped", "cpu_depthwise", "cpu_strassen",
                                         "cpu_statistics", "cpu_matrix"};
  return has_statistics_by_element(problem) ||
         (mix.output && std::ranges::find(kAlike, solver) != std::end(kAlike));
}

class Mixed : public testing::TestWithParam<SolverSample> {};

TEST_P(Mixed, OperandsAndOutputs) {
  const auto& [solver, index, text] = GetParam();
  const ProblemSpec original = driver::parse_problem(text);
  const bool integers = driver::is_integer(original.input.type);
  std::uint64_t stream = 100;
  int run = 0;
  std::size_t turn = static_cast<std::size_t>(index);
  for (const std::string& level : integers ? kByteLevels : kLevels) {
    const Handle handle = handle_at(level);
    ++turn;
    for (const fuseplanDataType_t type : integers ? kIntegers : kTypes) {
      ++turn;
      for (const bool channels_last : {false, true}) {
        const ProblemSpec plain = converted(original, type, channels_last);
        Case alone(plain);
        const bool is_sample = is_taken(alone, *solver, handle.get());
        // Half of them in turn: over types and levels each meets both layouts.
        for (std::size_t number = ++turn % 2; number < std::size(kMixes); number += 2) {
          const Mix& mix = kMixes[number];
          if (!applies(mix, plain)) continue;
          const fuseplanDataType_t byte = ++stream % 2 == 0 ? fuseplanUint8 : fuseplanInt8;
          const ProblemSpec problem = mixed(plain, mix, channels_last, byte);
          SCOPED_TRACE(driver::to_text(problem) + " at " + level + ", " + mix.name);
          Case c(problem, {.stream = stream, .misalign = static_cast<int>(stream % 5)});
          const bool taken = is_taken(c, *solver, handle.get());
          if (!taken && may_refuse(mix, problem, solver->id())) continue;
          // What no solver gains by alone, such as splitting small samples, may be gained mixed.
          EXPECT_TRUE(taken || !is_sample);
          if (!taken) continue;
          expect_right(c, handle.get());
          EXPECT_EQ(c.output().damage(), "");
          ++run;
        }
      }
    }
  }
  std::printf("%s: %d forms run\n", std::string(solver->id()).c_str(), run);
  EXPECT_TRUE(run > 0 || has_statistics_by_element(original));
}

INSTANTIATE_TEST_SUITE_P(AllSolvers, Mixed, testing::ValuesIn(samples_on("cpu")),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace fuseplan::test
