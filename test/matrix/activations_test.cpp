// SPDX-License-Identifier: MIT
// Every activation behind a convolution and alone, in every type and layout, at every level.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

class Activations : public testing::TestWithParam<driver::NamedActivation> {};

void expect_right_everywhere(const std::string& text) {
  std::uint64_t stream = 0;
  for (const std::string& level : kLevels)
    for (fuseplanDataType_t type : kTypes)
      for (bool channels_last : {false, true})
        expect_right(converted(driver::parse_problem(text), type, channels_last), level,
                     {.stream = ++stream});
}

TEST_P(Activations, Alone) {
  expect_right_everywhere(std::string("f32:2x19x7x9:nchw;activation(") + GetParam().name + ")");
}

TEST_P(Activations, BehindBatchNorm) {
  expect_right_everywhere(std::string("f32:2x19x7x9:nchw;norm(spatial,f32:1x19x1x1);activation(") +
                          GetParam().name + ")");
}

TEST_P(Activations, BehindConvolutionBiasAndBatchNorm) {
  expect_right_everywhere(
      std::string("f32:1x9x10x11:nchw;conv(f32:21x9x3x3,pad=1x1);bias(f32:1x21x1x1);"
                  "norm(spatial,f32:1x21x1x1);activation(") +
      GetParam().name + ")");
}

INSTANTIATE_TEST_SUITE_P(All, Activations, testing::ValuesIn(driver::all_activations()),
                         [](const testing::TestParamInfo<driver::NamedActivation>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
