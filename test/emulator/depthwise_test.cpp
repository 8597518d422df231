// SPDX-License-Identifier: MIT
// Depthwise convolution on the emulated device: shapes besides the solver's samples, and mistakes
// put into the kernel.
#include "emulated.hpp"
#include "mutants.hpp"

namespace fuseplan::test {
namespace {

const char* const kForms[] = {
    // Strips that end below the image; one column of strips; padding beyond the filter.
    "bf16:3x16x7x1:nhwc;conv(bf16:16x1x3x1:nhwc,pad=1x0,groups=16);add(bf16:1x16x7x1:nhwc)",
    "f16:2x5x6x6:nchw;conv(f16:5x1x3x3,pad=4x4,groups=5);activation(relu)",
    "f32:1x8x9x10:nhwc;conv(f32:8x1x5x3:nhwc,pad=2x1,pad_hi=0x2,stride=3x2,groups=8)",
    "f32:1x8x30x3:nhwc;conv(f32:8x1x2x2:nhwc,stride=9x1,groups=8)",
    // A channel to several; groups of several; a volume.
    "f16:1x4x9x8:nhwc;conv(f16:12x1x3x3:nhwc,pad=1x1,groups=4);scale_shift(f32:1x12x1x1)",
    "f32:2x12x6x5:nchw;conv(f32:8x3x3x3,pad=1x1,groups=4);activation(elu)",
    "f16:1x9x5x4x3:ncdhw;conv(f16:9x1x2x3x2,pad=1x1x0,stride=1x2x1,dilation=2x1x1,groups=9)",
    // Weights in an order of their own.
    "f32:1x8x6x6:nhwc;conv(f32:8x1x3x3:nchw,pad=1x1,groups=8)->f32:1x8x6x6:nchw",
};

TEST(DeviceDepthwise, Forms) {
  const Handle handle = emulated_handle();
  for (const char* form : kForms)
    for (int misalign : {0, 1})
      expect_right_on_device(handle, driver::parse_problem(form), "gpu_depthwise",
                             {.misalign = misalign});
}

// Blocks go on to further strips where there are more than a device runs at once.
TEST(DeviceDepthwise, MoreStripsThanThreads) {
  expect_right_on_device(
      emulated_handle(),
      driver::parse_problem("f16:133x8x1x2048:nhwc;conv(f16:8x1x1x1:nhwc,groups=8)"),
      "gpu_depthwise");
}

const char* const kPixels =
    "f16:2x24x9x7:nhwc;conv(f16:24x1x3x2:nhwc,pad=1x1,stride=1x2,dilation=2x1,groups=24);"
    "norm(spatial,f32:1x24x1x1)";
const char* const kPlanes = "f32:2x11x7x9:nchw;conv(f32:11x1x3x3,pad=1x1,groups=11)";
const char* const kGroups = "f32:1x12x6x6:nhwc;conv(f32:8x3x3x3:nhwc,pad=1x1,groups=4)";
const char* const kVolume = "f32:2x5x4x5x3:ncdhw;conv(f32:5x1x3x2x2,pad=1x0x1,groups=5)";
// More shared memory than a block has unasked.
const char* const kLarge =
    "f16:1x480x5x4:nhwc;conv(f16:480x1x5x5:nhwc,pad=2x2,groups=480);norm(spatial,f32:1x480x1x1)";
// More weights than shared memory holds.
const char* const kMany =
    "f16:1x1040x4x4:nhwc;conv(f16:1040x1x5x5:nhwc,pad=2x2,groups=1040);"
    "norm(spatial,f32:1x1040x1x1)";
const char* const kPin = "--pin=gpu_depthwise:default";
const char* const kOutside = "outside all memory";

const Mutant kMutants[] = {
    {"NoBarrierBehindTheWeights", "  fp_barrier();\n}", "}", kPixels, nullptr, kPin},
    {"TapsNotTransposed", "shared[at] =", "shared[channel * FP_TAPS + tap] =", kPixels, nullptr,
     kPin},
    {"ValuesOfTheFirstLane", "FP_OUTPUTS + strip.channel + v]", "FP_OUTPUTS + strip.channel]",
     kPixels, nullptr, kPin},
    {"ValuesOverTheWeights", "(FP_TAPS + c) * FP_OUTPUTS + channel]",
     "(FP_TAPS - 1 + c) * FP_OUTPUTS + channel]", kPixels, nullptr, kPin},
    {"FirstWeightOfTheLanes", "* FP_OUTPUTS + channel + v]", "* FP_OUTPUTS + channel]", kPixels,
     nullptr, kPin},
    {"ColumnsSwapped", "tap % FP_S * FP_WEIGHT_S", "(FP_S - 1 - tap % FP_S) * FP_WEIGHT_S", kPixels,
     nullptr, kPin},
    {"NoDilation", "r * FP_DILATION_H != row", "r != row", kPixels, nullptr, kPin},
    {"NoStride", "strip.q * FP_STRIDE_W", "strip.q", kPixels, nullptr, kPin},
    {"NoLeftOrRight", "(unsigned)w < a.input_w", "true", kPlanes, "", kPin},
    {"NoTopOrBottom", "(unsigned)h < a.input_h", "true", kPlanes, "", kPin},
    {"NoFrontOrBack", "if ((unsigned)depth >= a.input_d) continue;", "", kVolume, "", kPin},
    {"WideOutsideIsInside", "inside ? words", "true ? words", kPixels, nullptr, kPin},
    {"WideColumnsOutside", "base + fp_clamp(w, a.input_w) *", "base + w *", kPixels, "", kPin},
    {"NoRowTail", "if (strip.p + t >= (int)a.output_h) continue;", "", kPlanes, "", kPin},
    {"NoStripTail", "index < a.count", "index < a.count + 1", kPlanes, kOutside, kPin},
    {"StripsOverlap", "(int)at[FP_AT_H] * FP_T", "(int)at[FP_AT_H] * (FP_T - 2)", kPlanes, nullptr,
     kPin},
    {"FirstChannelOfAGroup", "group * FP_C + c", "group * FP_C", kGroups, nullptr, kPin},
    {"GroupOfEachChannel", "strip.channel / FP_K", "strip.channel % FP_K", kGroups, nullptr, kPin},
    {"FirstFilterOfAGroup", "(long long)c * FP_WEIGHT_C", "0ll", kGroups, nullptr, kPin},
    {"ChannelOfTheFirstLane", "strip.channel + v, channels[v]", "strip.channel, channels[v]", kMany,
     nullptr, kPin},
    {"DepthNotPadded", " - FP_PAD_D", "", kVolume, "", kPin},
};

TEST(DeviceDepthwise, MoreSharedMemoryThanGivenUnasked) {
  expect_right_on_device(emulated_handle(), driver::parse_problem(kLarge), "gpu_depthwise");
}

class DepthwiseMutants : public testing::TestWithParam<Mutant> {};

TEST_P(DepthwiseMutants, AreNoticed) { expect_noticed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, DepthwiseMutants, testing::ValuesIn(kMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
