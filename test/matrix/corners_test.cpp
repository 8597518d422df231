// SPDX-License-Identifier: MIT
// Legal plans at the edges of what kernels are made for.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

void expect_right_at_all_levels(const std::string& text) {
  std::uint64_t stream = 500;
  for (const std::string& level : kLevels)
    for (const bool blend : {false, true})
      expect_right(driver::parse_problem(text), level, {.stream = ++stream, .blend = blend});
}

// In NHWC the stride of a width of 1 is not 1, and leads nowhere.
TEST(Corners, WidthOfOne) {
  for (const char* text :
       {"f32:1x4x1x1:nhwc;conv(f32:34x2x1x3,pad=0x2,pad_hi=0x0,stride=1x2,groups=2)",
        "f32:1x4x5x1:nhwc;conv(f32:34x2x3x3,pad=1x2,pad_hi=1x0,stride=2x2,groups=2)",
        "f32:1x4x1x1:nhwc;conv(f32:4x2x1x1,pad=0x1,groups=2)->f32:1x4x1x3:nchw",
        "f32:1x16x3x1:nhwc;conv(f32:16x1x3x3,pad=1x2,groups=16)->f32:1x16x3x3:nchw",
        "f32:1x40x9x1:nhwc;conv(f32:68x10x3x3,pad=1x1,groups=4);activation(relu)",
        "bf16:2x6x4x1:nhwc;conv(bf16:6x1x3x5,pad=1x4,groups=6);activation(tanh)"})
    expect_right_at_all_levels(text);
}

// Steps that no output takes: whatever multiplies them must not overflow.
TEST(Corners, StridesAndDilationsBeyondTheImage) {
  for (const char* text :
       {"f32:1x4x8x8:nchw;conv(f32:4x4x3x3,pad=1x1,stride=1073741824x1073741824)",
        "f16:1x16x8x8:nhwc;conv(f16:16x16x3x3,pad=1x1,stride=536870912x536870912)",
        "f32:1x1x1x2:nhwc;conv(f32:1x1x1x1,stride=2x1073741824,dilation=1x1073741824)",
        "f32:1x38x5x9:nchw;conv(f32:38x1x1x1,pad=1x0,stride=3x1048576,groups=38)",
        "u8:1x16x8x8:nhwc;conv(i8:16x16x3x3,pad=1x1,stride=1073741824x1073741824)"
        "->f32:1x16x1x1:nhwc",
        "f32:2x32x4x6:nhwc;conv(f32:64x32x1x1,stride=1073741824x1073741824)"})
    expect_right_at_all_levels(text);
}

// Chains that take all registers of AVX2 and read many values of a channel.
TEST(Corners, LongChainsOfDepthwiseConvolutions) {
  for (const char* text :
       {"f32:1x8x8x8:nhwc;conv(f32:8x1x3x3,pad=1x1,groups=8);activation(elu);"
        "activation(hardsigmoid);activation(softrelu);activation(clippedrelu);activation(elu)",
        "f32:1x16x8x8:nhwc;conv(f32:16x1x3x3,pad=1x1,groups=16);add(f32:1x16x8x8:nhwc);"
        "activation(clamp);norm(per_activation,f32:1x16x8x8:nhwc);activation(softplus)",
        "bf16:1x17x7x8:nhwc;conv(bf16:17x1x2x2,pad=1x1,groups=17);activation(softplus);"
        "activation(truncated_power);add(f32:1x17x8x9:nhwc)",
        "f32:1x8x8x6:nhwc;conv(f32:8x1x2x2,pad=2x1,stride=2x2,groups=8);activation(softrelu);"
        "scale_shift(f32:1x8x1x1);activation(hardsigmoid);activation(logistic)"})
    expect_right_at_all_levels(text);
}

// One channel: its value is there before anything is gathered.
TEST(Corners, OneChannelBehindBatchNormPerActivation) {
  for (const char* text :
       {"f32:2x1x1x4:nchw;norm_training(per_activation,f32:1x1x1x4);bias(f32:1x1x1x1)",
        "f32:8x1x32x32:nchw;norm_training(per_activation,f32:1x1x32x32);"
        "scale_shift(f32:1x1x1x1);activation(relu)",
        "f32:1x1x2x3:nchw;bias(f32:1x1x1x1);norm_backward(per_activation,f32:1x1x2x3,"
        "f32:1x1x2x3)"})
    for (const std::string& level : kLevels) expect_right(driver::parse_problem(text), level);
}

}  // namespace
}  // namespace fuseplan::test
