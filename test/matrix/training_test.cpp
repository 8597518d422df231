// SPDX-License-Identifier: MIT
// Training: every activation, behind and in front of batch normalisation in both modes and alone,
// in every type and layout, at every level; and forms that samples do not show.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

/// The problem in every type and layout at every level.
void expect_right_everywhere(const std::string& text, const std::vector<std::string>& levels) {
  std::uint64_t stream = 0;
  for (const std::string& level : levels)
    for (fuseplanDataType_t type : kTypes)
      for (bool channels_last : {false, true})
        expect_right(converted(driver::parse_problem(text), type, channels_last), level,
                     {.stream = ++stream});
}

struct Mode2 {
  const char *name, *params;
};
const Mode2 kModes[] = {{"spatial", "spatial,f32:1x19x1x1"},
                        {"per_activation", "per_activation,f32:1x19x7x9"}};

class TrainingActivations : public testing::TestWithParam<driver::NamedActivation> {};

TEST_P(TrainingActivations, BehindBatchNorm) {
  for (const Mode2& mode : kModes)
    expect_right_everywhere(std::string("f32:3x19x7x9:nchw;norm_training(") + mode.params +
                                ",running);activation(" + GetParam().name + ")",
                            kLevels);
}

TEST_P(TrainingActivations, InFrontOfBatchNormBackward) {
  for (const Mode2& mode : kModes)
    expect_right_everywhere(std::string("f32:3x19x7x9:nchw;activation_backward(") +
                                GetParam().name + ",f32:3x19x7x9);norm_backward(" + mode.params +
                                ",f32:3x19x7x9)",
                            kLevels);
}

TEST_P(TrainingActivations, BackwardAlone) {
  expect_right_everywhere(
      std::string("f32:3x19x7x9:nchw;activation_backward(") + GetParam().name + ",f32:3x19x7x9)",
      kLevels);
}

INSTANTIATE_TEST_SUITE_P(All, TrainingActivations, testing::ValuesIn(driver::all_activations()),
                         [](const testing::TestParamInfo<driver::NamedActivation>& info) {
                           return std::string(info.param.name);
                         });

const std::string kForms[] = {
    // Alone, and behind and in front of chains.
    "f32:3x5x7x9:nchw;norm_training(spatial,f32:1x5x1x1)",
    "f32:3x5x7x9:nchw;norm_backward(spatial,f32:1x5x1x1,f32:3x5x7x9)",
    "f32:4x6x5x3:nchw;norm_training(spatial,f32:1x6x1x1);add(f32:4x6x5x3);activation(relu);"
    "scale_shift(f32:1x6x1x1)",
    "f32:4x6x5x3:nchw;add(f32:4x6x5x3);activation_backward(relu,f32:4x6x5x3);"
    "norm_backward(spatial,f32:1x6x1x1,f32:4x6x5x3)",
    "f32:4x6x5x3:nchw;activation_backward(tanh,f32:4x6x5x3);scale_shift(f32:1x6x1x1);"
    "activation_backward(mish,f32:4x6x5x3);norm_backward(per_activation,f32:1x6x5x3,f32:4x6x5x3)",
    // Three spatial axes, and none.
    "f32:2x5x3x4x6:ncdhw;norm_training(spatial,f32:1x5x1x1x1,running);activation(elu)",
    "f32:3x5x3x4x6:ncdhw;norm_training(per_activation,f32:1x5x3x4x6,running);activation(elu)",
    "f32:2x5x3x4x6:ncdhw;activation_backward(elu,f32:2x5x3x4x6:ncdhw);"
    "norm_backward(spatial,f32:1x5x1x1x1,f32:2x5x3x4x6:ncdhw)",
    "f32:37x21:nchw;norm_training(spatial,f32:1x21,running);activation(relu)",
    "f32:37x21:nchw;activation_backward(relu,f32:37x21);norm_backward(per_activation,f32:1x21,f32:"
    "37x21)",
    // One channel, one pixel, one image; one value per statistic.
    "f32:9x1x6x7:nchw;norm_training(spatial,f32:1x1x1x1,running)",
    "f32:9x33x1x1:nchw;norm_training(spatial,f32:1x33x1x1,running)",
    "f32:1x7x5x5:nchw;norm_training(spatial,f32:1x7x1x1,running)",
    "f32:1x7x1x1:nchw;norm_training(spatial,f32:1x7x1x1,running)",
    "f32:1x7x3x2:nchw;norm_training(per_activation,f32:1x7x3x2,running)",
    "f32:1x7x5x5:nchw;norm_backward(spatial,f32:1x7x1x1,f32:1x7x5x5)",
    // Large enough to be cut into chunks.
    "f32:16x3x70x70:nchw;norm_training(spatial,f32:1x3x1x1,running);activation(leakyrelu)",
    "f32:16x3x70x70:nchw;activation_backward(leakyrelu,f32:16x3x70x70);norm_backward(spatial,f32:"
    "1x3x1x1,f32:16x3x70x70)",
    "f32:3x300x20x11:nchw;norm_training(spatial,f32:1x300x1x1,running)",
};

// Statistics of what convolutions and chains wrote.
const std::string kGathering[] = {
    "f32:5x12x14x13:nchw;conv(f32:19x12x3x3,pad=1x1);statistics(f32:1x19x1x1)",
    "f32:6x32x40x40:nchw;conv(f32:40x32x1x1);bias(f32:1x40x1x1);statistics(f32:1x40x1x1)",
    "f32:4x24x65x65:nchw;conv(f32:24x1x3x3,pad=1x1,groups=24);add(f32:4x24x65x65);statistics(f32:"
    "1x24x1x1)",
    "f32:2x64x15x15:nchw;conv(f32:64x64x3x3,pad=1x1);add(f32:1x64x15x15);activation(silu);"
    "statistics(f32:1x64x1x1)",
    "f32:2x6x4x5x7:ncdhw;conv(f32:9x6x3x3x3,pad=1x1x1);statistics(f32:1x9x1x1x1)",
    "f32:1x5x1x1:nchw;conv(f32:3x5x1x1);statistics(f32:1x3x1x1)",
    "f32:70x11:nchw;statistics(f32:1x11)",
    "f32:6x21x17x9:nchw;activation_backward(tanh,f32:6x21x17x9);statistics(f32:1x21x1x1)",
};

// Strides of their own, and types that differ.
const std::string kStrided[] = {
    "f32:3x5x4x6:s500,7,120,19;norm_training(spatial,f32:1x5x1x1:s1,3,1,1,running)"
    "->f32:3x5x4x6:s200,37,9,1",
    "f32:3x5x4x6:s500,7,120,19;norm_training(per_activation,f32:1x5x4x6:s1,90,20,3,running)",
    "f16:3x5x4x6:nhwc;norm_training(per_activation,f32:1x5x4x6:nchw,running);activation(relu)",
    "f16:3x5x4x6:nchw;norm_training(spatial,f32:1x5x1x1);activation(relu)->f32:3x5x4x6:nhwc",
    "f32:3x5x4x6:nchw;activation_backward(relu,f32:3x5x4x6);norm_backward(spatial,f32:"
    "1x5x1x1:s1,2,1,1,bf16:3x5x4x6:nhwc)->f16:3x5x4x6:s120,24,6,1",
    "f16:5x12x14x13:nhwc;conv(f16:19x12x3x3:nhwc,pad=1x1);statistics(f32:1x19x1x1:s1,3,1,1)"
    "->f32:5x19x14x13:s4000,1,280,20",
    "u8:5x12x14x13:nchw;conv(i8:19x12x3x3,pad=1x1);scale_shift(f32:1x19x1x1);statistics(f32:"
    "1x19x1x1)",
    "bf16:3x5x4x6:s500,7,120,19;activation_backward(silu,f32:3x5x4x6:s150,30,6,1)"
    "->f32:3x5x4x6:nchw",
};

TEST(TrainingForms, Gathering) {
  for (const std::string& text : kGathering) expect_right_everywhere(text, kLevels);
}

TEST(TrainingForms, EveryTypeLayoutAndLevel) {
  for (const std::string& text : kForms) expect_right_everywhere(text, kLevels);
}

TEST(TrainingForms, Strided) {
  for (const std::string& text : kStrided)
    for (const std::string& level : kLevels) expect_right(driver::parse_problem(text), level);
}

TEST(TrainingForms, BlendedAndMisaligned) {
  std::uint64_t stream = 100;
  std::vector<std::string> texts(std::begin(kForms), std::end(kForms));
  texts.insert(texts.end(), std::begin(kGathering), std::end(kGathering));
  for (const std::string& text : texts)
    for (const std::string& level : kLevels) {
      ++stream;
      expect_right(driver::parse_problem(text), level,
                   {.stream = stream, .blend = true, .misalign = static_cast<int>(stream % 5)});
    }
}

}  // namespace
}  // namespace fuseplan::test
