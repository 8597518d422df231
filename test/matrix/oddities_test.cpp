// SPDX-License-Identifier: MIT
// problems/oddities.csv: shapes that break kernels, in every type and layout, at every level.
#include "matrix.hpp"
#include "support/shapes.hpp"

namespace fuseplan::test {
namespace {

ProblemSpec problem_of(const ConvProblem& row, const std::string& chain) {
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
        op.kind == driver::OpKind::scale_shift)
      op.tensor = driver::packed(fuseplanFloat, {1, row.k, 1, 1}, false);
    problem.ops.push_back(op);
  }
  return problem;
}

class Oddities : public testing::TestWithParam<ConvProblem> {};

TEST_P(Oddities, ConvolutionWithFullChain) {
  const std::string chains[] = {
      "bias(f32:1);norm(spatial,f32:1);activation(relu)",
      "add(f32:1);activation(gelu_tanh);scale_shift(f32:1)",
  };
  std::uint64_t stream = 0;
  for (const std::string& chain : chains)
    for (const std::string& level : kLevels)
      for (fuseplanDataType_t type : kTypes)
        for (bool channels_last : {false, true})
          expect_right(converted(problem_of(GetParam(), chain), type, channels_last), level,
                       {.stream = ++stream, .misalign = static_cast<int>(stream % 3)});
}

TEST_P(Oddities, ResidualInPlace) {
  const ProblemSpec problem = problem_of(GetParam(), "add(f32:1);activation(gelu_tanh)");
  for (const std::string& level : kLevels)
    for (fuseplanDataType_t type : kTypes)
      for (bool channels_last : {false, true})
        expect_right(converted(problem, type, channels_last), level, {.in_place = true});
}

TEST_P(Oddities, ConvolutionAlone) {
  for (const std::string& level : kLevels)
    for (bool channels_last : {false, true})
      expect_right(
          converted(problem_of(GetParam(), "activation(pasthru)"), fuseplanFloat, channels_last),
          level);
}

INSTANTIATE_TEST_SUITE_P(List, Oddities, testing::ValuesIn(read_conv_problems("oddities.csv")),
                         [](const testing::TestParamInfo<ConvProblem>& info) {
                           return "row" + std::to_string(info.index) + "_" + info.param.name;
                         });

}  // namespace
}  // namespace fuseplan::test
