// SPDX-License-Identifier: MIT
// problems/oddities.csv: shapes that break kernels, in every type and layout, at every level.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

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
          expect_right(converted(with_chain(GetParam(), chain), type, channels_last), level,
                       {.stream = ++stream, .misalign = static_cast<int>(stream % 3)});
}

TEST_P(Oddities, ResidualInPlace) {
  const ProblemSpec problem = with_chain(GetParam(), "add(f32:1);activation(gelu_tanh)");
  for (const std::string& level : kLevels)
    for (fuseplanDataType_t type : kTypes)
      for (bool channels_last : {false, true})
        expect_right(converted(problem, type, channels_last), level, {.in_place = true});
}

TEST_P(Oddities, ConvolutionAlone) {
  for (const std::string& level : kLevels)
    for (bool channels_last : {false, true})
      expect_right(
          converted(with_chain(GetParam(), "activation(pasthru)"), fuseplanFloat, channels_last),
          level);
}

INSTANTIATE_TEST_SUITE_P(List, Oddities, testing::ValuesIn(read_conv_problems("oddities.csv")),
                         [](const testing::TestParamInfo<ConvProblem>& info) {
                           return "row" + std::to_string(info.index) + "_" + info.param.name;
                         });

}  // namespace
}  // namespace fuseplan::test
