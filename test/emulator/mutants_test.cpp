// SPDX-License-Identifier: MIT
// The tests' own test: mistakes put into the kernels' sources must be noticed, by a wrong result or
// by the emulator's word.
#include <gtest/gtest.h>

#include <string>

#include "mutants.hpp"

namespace fuseplan::test {
namespace {

// Odd lengths everywhere, so that every tail predicate has work to do.
const char* const kConv =
    "f32:2x11x7x9:nchw;conv(f32:37x11x3x2,pad=1x1,stride=2x1,dilation=1x2);bias(f32:1x37x1x1)";
const char* const kGroups = "f32:1x12x6x6:nhwc;conv(f32:20x6x3x3:nhwc,pad=1x1,groups=2)";
const char* const kFlat = "f16:3x5x7x7:nchw;bias(f32:1x5x1x1)";
const char* const kPointwise =
    "f16:2x24x5x8:nhwc;norm(spatial,f32:1x24x1x1);add(f16:2x24x5x8:nhwc)";
const char* const kNarrow = "f32:5x7x3x1:nchw;norm(spatial,f32:1x7x1x1);activation(elu)";

const char* const kOutside = "outside all memory";

const Mutant kMutants[] = {
    {"NoBarrierAfterTheFirstStep", "  fp_put_down(stage, shared);\n  fp_barrier();",
     "  fp_put_down(stage, shared);", kConv, nullptr},
    {"NoBarrierBetweenSteps", "      fp_barrier();\n    }\n  }\n  fp_finish(",
     "    }\n  }\n  fp_finish(", kConv, nullptr},
    {"NoBarrierBeforeTheTileIsStaged",
     "      fp_barrier();\n      FP_UNROLL\n      for (int i = 0; i < FP_GM",
     "      FP_UNROLL\n      for (int i = 0; i < FP_GM", kConv, nullptr},
    {"NoBarrierBeforeTheStagedTileIsRead", "      fp_barrier();\n      fp_finish_part(",
     "      fp_finish_part(", kConv, nullptr},
    {"BarrierInABranch", "      fp_barrier();\n      fp_finish_part(",
     "      if (fp_thread() != 3) fp_barrier();\n      fp_finish_part(", kConv, "deadlock"},
    {"BarriersApart", "      fp_barrier();\n      fp_finish_part(",
     "      if (fp_thread() != 3) fp_barrier();\nelse fp_barrier();\n      fp_finish_part(", kConv,
     "divergent"},
    {"OneBuffer", "shared + (step + 1) % 2 * FP_BUFFER", "shared", kConv, nullptr},
    {"FiltersAxesSwapped", "tap.r * FP_WEIGHT_R + tap.s * FP_WEIGHT_S",
     "tap.s * FP_WEIGHT_R + tap.r * FP_WEIGHT_S", kConv, nullptr},
    {"InputsAxesSwapped", "pixel.h + tap.r * FP_DILATION_H", "pixel.h + tap.s * FP_DILATION_H",
     kConv, ""},
    {"NoTopOrBottom", "(unsigned)h < a.input_h &&", "", kConv, ""},
    {"NoLeftOrRight", "(unsigned)w < a.input_w", "true", kConv, ""},
    {"LeftOnly", "(unsigned)w < a.input_w", "w < (int)a.input_w", kConv, ""},
    {"NoPixelTail", "pixel < a.pixels ? h : -(1 << 30)", "h", kConv, ""},
    {"NoStoreTail", "tile.pixel + m >= a.pixels || ", "", kConv, kOutside},
    {"NoChannelTail", " || tile.channel + n >= FP_K", "", kConv, ""},
    {"NoWeightTail", "d >= FP_DEPTH || k >= FP_K", "d >= FP_DEPTH", kConv, ""},
    {"NoDepthTail", "d >= FP_DEPTH || !fp_is_inside", "!fp_is_inside", kConv, ""},
    {"NoStride", "at.p * FP_STRIDE_H", "at.p", kConv, nullptr},
    {"NoDilation", "pixel.w + tap.s * FP_DILATION_W", "pixel.w + tap.s", kConv, ""},
    {"NoPadding", " - FP_PAD_W;", ";", kConv, ""},
    {"FirstGroupsInput", "(long long)group * FP_C), d", "0), d", kGroups, nullptr},
    {"FirstGroupsFilters", "((long long)group * FP_K + k) * FP_WEIGHT_K + (long long)tap.c",
     "(long long)k * FP_WEIGHT_K + (long long)tap.c", kGroups, nullptr},
    {"WrongBankPadding", "fp_load_depth(i) * FP_ROW_A + fp_load_row(i)",
     "fp_load_depth(i) * FP_BM + fp_load_row(i)", kConv, nullptr},
    {"StepTooMuch", "const bool more = step + 1 < FP_STEPS;",
     "const bool more = step + 2 < FP_STEPS;", kConv, nullptr},
    {"ElementTail", "if (start + i * step < a.count) fp_finish_item", "fp_finish_item", kNarrow,
     kOutside},
    {"LoadTail", "if (start + i * step < a.count) fp_load_item", "fp_load_item",
     "f32:10x7x3x1:nchw;bias(f32:1x7x1x1)", kOutside},
    {"ChannelOfTheFirstLane", "fp_channels(a, channel + v, to[v])",
     "fp_channels(a, channel, to[v])", kPointwise, nullptr},
    {"NextPlaneIsTheSame", "if (left < V) fp_channels", "if (false) fp_channels", kFlat, nullptr},
    {"PlaneEndsALaneLater", "v < left ?", "v <= left ?", kFlat, nullptr},
    {"LastLanesLeftOut", "if (thread >= a.rest) return;", "return;", kFlat, nullptr},
    {"LanesBehindTheLast", "if (thread >= a.rest) return;", "if (thread > a.rest) return;", kFlat,
     "outside all memory"},
    {"WideLoadsHalvesSwapped", "(16 * (i % 2))", "(16 * (1 - i % 2))", kPointwise, nullptr},
    {"AxesSwapped", "index = rest;", "index = axis == 0 ? rest + 1 : rest;", kNarrow, ""},
    {"Truncates", "0x7fffu + ((bits >> 16) & 1u)", "0u", "bf16:1x8x8x8:nchw;activation(logistic)",
     nullptr},
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreNoticed) { expect_noticed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(kMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
