// SPDX-License-Identifier: MIT
// Mistakes in the tensor-core convolution that must be noticed. Launches have several blocks:
// copies land early in one, late in the next.
#include <gtest/gtest.h>

#include <string>

#include "mutants.hpp"

namespace fuseplan::test {
namespace {

// Everything is copied and stored 16 bytes at a time, with tails of pixels, channels and depth.
const char* const kWide =
    "f16:2x40x9x7:nhwc;conv(f16:72x40x3x2:nhwc,pad=1x1,stride=2x1,dilation=1x2);bias(f32:1x72x1x1);"
    "add(f16:2x72x5x7:nhwc)";
// Nothing is.
const char* const kGathered =
    "f16:2x11x7x9:nchw;conv(f16:37x11x3x2,pad=1x1,stride=2x1,dilation=1x2);bias(f32:1x37x1x1)";
// The same with the channels innermost.
const char* const kFewChannels =
    "f16:2x3x9x7:nhwc;conv(f16:24x3x3x2:nhwc,pad=1x1,stride=1x2,dilation=2x1)";
// Three spatial axes, taps together or channels together.
const char* const kVolume =
    "f16:2x5x5x6x4:nchw;conv(f16:19x5x3x2x3,pad=2x0x1,stride=1x2x1,dilation=2x1x1)";
const char* const kSlices = "f16:1x6x5x4x6:ndhwc;conv(f16:12x6x2x3x2:ndhwc,pad=1x1x0)";
const char* const kGroups = "f16:1x48x6x6:nhwc;conv(f16:32x24x3x3:nhwc,pad=1x1,groups=2)";
// The source copies, but the rows' distance does not let it.
const char* const kCrooked =
    "f16:1x16x4x5:s400,1,90,17;conv(f16:16x16x1x1:nhwc)->f16:1x16x4x5:nhwc";
const char* const kTf32 = "f32:1x24x6x6:nhwc;conv(f32:32x24x3x3:nhwc,pad=1x1)";

const char* const kSmall = "--pin=gpu_tensor:64x64w2x2x1c4s4";
const char* const kShared = "--pin=gpu_tensor:64x64w2x2x2c8s3";

const char* const kSplit = "--pin=gpu_tensor:64x64w2x2x1c4s4k4";
const char* const kSplitInTwo = "--pin=gpu_tensor:64x64w2x2x1c4s4k2";

const char* const kOutside = "outside all memory";

const Mutant kMutants[] = {
    {"NoBarrierInTheLoop", "    fp_cp_wait<FP_STAGES - 2>();\n    fp_barrier();",
     "    fp_cp_wait<FP_STAGES - 2>();", kWide, nullptr, kSmall},
    {"NoWaitForCopies", "    fp_cp_wait<FP_STAGES - 2>();", "", kWide, nullptr, kSmall},
    {"WaitsForOneGroupTooFew", "fp_cp_wait<FP_STAGES - 2>", "fp_cp_wait<FP_STAGES - 1>", kWide,
     nullptr, kSmall},
    {"WaitsAfterTheBarrier", "    fp_cp_wait<FP_STAGES - 2>();\n    fp_barrier();",
     "    fp_barrier();\n    fp_cp_wait<FP_STAGES - 2>();", kWide, nullptr, kSmall},
    {"NoCommit", "  fp_cp_commit();\n}\nFP_FN void fp_put_down", "}\nFP_FN void fp_put_down", kWide,
     nullptr, kSmall},
    {"ReadsTheNextStage", "fp_multiply(ring + step % FP_STAGES",
     "fp_multiply(ring + (step + 1) % FP_STAGES", kWide, nullptr, kSmall},
    {"OverwritesWhatIsRead", "ring + next % FP_STAGES", "ring + step % FP_STAGES", kWide, nullptr,
     kSmall},
    {"StepTooFew", "next < depth.steps + FP_AHEAD", "next + 1 < depth.steps + FP_AHEAD", kWide,
     nullptr, kSmall},
    {"MultipliesBeforeItHasLoaded", "|| next >= FP_AHEAD", "|| true", kGathered, nullptr, kSmall},
    {"LoadsTooLate", "|| next >= FP_AHEAD", "|| next > FP_AHEAD", kGathered, nullptr, kSmall},
    {"RowsReadUnswizzled", "fp_slot_at(row + i * 16, chunk + lane / 16)",
     "((row + i * 16) * FP_CHUNKS + chunk + lane / 16) * 16", kWide, nullptr, kSmall},
    {"ColumnsHalvesSwapped", "chunk + lane / 8 % 2", "chunk + lane / 16", kWide, nullptr, kSmall},
    {"RowsHalvesSwapped", "fp_warp_m() * FP_WM + lane % 16", "fp_warp_m() * FP_WM + lane / 2",
     kWide, nullptr, kSmall},
    {"SumsRowsSwapped", "lane / 4 + i / 2 * 8", "lane / 4 + i % 2 * 8", kWide, nullptr, kSmall},
    {"LaneMissesACollective", "fp_load_fragments(m[i], stage",
     "if (lane != 3) fp_load_fragments(m[i], stage", kWide, "divergent collective", kSmall},
    {"NoZeroFill", "d < FP_DEPTH && fp_is_inside(a, pixels[i], tap)", "d < FP_DEPTH", kWide, "",
     kSmall},
    {"NoDepthTailOfFilters", "const bool there = d < FP_DEPTH && k < FP_K;",
     "const bool there = k < FP_K;", kWide, kOutside, kSmall},
    {"NoChannelTailOfFilters", "const bool there = d < FP_DEPTH && k < FP_K;",
     "const bool there = d < FP_DEPTH;", kWide, kOutside, kSmall},
    {"NoPixelTail", "pixel < a.pixels ? h : -(1 << 30)", "h", kWide, kOutside, kSmall},
    {"TapsAxesSwapped", "tap.r * FP_DILATION_H, tap.s * FP_DILATION_W}",
     "tap.s * FP_DILATION_H, tap.r * FP_DILATION_W}", kWide, kOutside, kSmall},
    {"BoundsAxesSwapped", "pixel.h + tap.r * FP_DILATION_H", "pixel.h + tap.s * FP_DILATION_H",
     kWide, "", kSmall},
    {"NoBarrierBeforeTheTileIsStaged", "    fp_barrier();\n    if (FP_OUT_PIXELS",
     "    if (FP_OUT_PIXELS", kWide, nullptr, kSmall},
    {"NoBarrierBeforeTheStagedTileIsRead", "    fp_barrier();\n    fp_finish_rows",
     "    fp_finish_rows", kWide, nullptr, kSmall},
    {"NoStoreTail", "    if (tile.pixel + m >= a.pixels) return;", "", kWide, kOutside, kSmall},
    {"ChannelOfTheFirstLane", "fp_channels(a, channel + v, channels[v])",
     "fp_channels(a, channel, channels[v])", kWide, nullptr, kSmall},
    {"DepthShareOfAnother", "(k * FP_WARPS_K + fp_warp_k()) * 2", "(k + fp_warp_k()) * 2", kWide,
     nullptr, kShared},
    {"NoBarrierBeforeSumsMeet", "  fp_barrier();\n  if (fp_warp_k() > 0) return;",
     "  if (fp_warp_k() > 0) return;", kWide, nullptr, kShared},
    {"SumsOverwriteTheRing", "fp_lane();\n  fp_barrier();", "fp_lane();", kWide, nullptr, kShared},
    {"EveryBlockSumsTheFirstPart", "fp_cluster_rank() * FP_SPLIT_STEPS", "0", kWide, nullptr,
     kSplit},
    {"StepsThatDoNotDivideLeftOut", "((FP_STEPS + FP_SPLIT - 1) / FP_SPLIT)",
     "(FP_STEPS / FP_SPLIT)", kGathered, nullptr, kSplitInTwo},
    {"TileOfTheBlock", "return fp_cluster();", "return fp_block();", kWide, nullptr, kSplit},
    {"NoClusterBarrierBeforeSumsAreRead", "  fp_cluster_barrier();\n  const unsigned row",
     "  fp_barrier();\n  const unsigned row", kWide, nullptr, kSplit},
    {"ClusterBarrierBeforeSumsAreThere",
     "  if (fp_warp_k() == 0) fp_stage_sums(sums, shared + fp_warp_m() * FP_WM * FP_PART_ROW);\n"
     "  fp_cluster_barrier();",
     "  fp_cluster_barrier();\n"
     "  if (fp_warp_k() == 0) fp_stage_sums(sums, shared + fp_warp_m() * FP_WM * FP_PART_ROW);",
     kWide, nullptr, kSplit},
    {"LeavesBeforeTheOthersMeet", "  float* const staged = shared + FP_BM * FP_PART_ROW;\n",
     "  float* const staged = shared + FP_BM * FP_PART_ROW;\n  if (fp_cluster_rank() == 1) "
     "return;\n",
     kWide, "at the cluster's barrier", kSplit},
    {"SumsOfItsOwnBlock", "fp_cluster_load(mine, rank)", "fp_cluster_load(mine, fp_cluster_rank())",
     kWide, nullptr, kSplit},
    {"LastBlockLeftOut", "rank < FP_SPLIT; ++rank", "rank + 1 < FP_SPLIT; ++rank", kWide, nullptr,
     kSplit},
    {"BlockBehindTheLast", "rank < FP_SPLIT; ++rank", "rank <= FP_SPLIT; ++rank", kWide,
     "no block 4 in the cluster", kSplit},
    {"SumsOutsideSharedMemory", "fp_cluster_load(mine, rank)",
     "fp_cluster_load(mine + (1 << 20), rank)", kWide, "of block", kSplit},
    {"RowsOfTheFirstBlock", "fp_cluster_rank() * FP_PART_M", "0", kWide, nullptr, kSplit},
    {"NoBarrierBeforeRowsAreFinished", "  fp_cluster_arrive();\n  fp_barrier();",
     "  fp_cluster_arrive();", kWide, nullptr, kSplit},
    {"LeavesWhileOthersRead", "  fp_finish_rows(a, tile, row, part, staged);\n  fp_cluster_wait();",
     "  fp_finish_rows(a, tile, row, part, staged);", kWide, "which has ended", kSplit},
    {"ArrivesBeforeItHasRead", "  FP_ONE_BY_ONE\n  for (unsigned at = fp_thread(); at < FP_PART_M",
     "  fp_cluster_arrive();\n  FP_ONE_BY_ONE\n  for (unsigned at = fp_thread(); at < FP_PART_M",
     kWide, "second arrival", kSplit},
    {"StagedChannelsOverTheTile", "float* const staged = shared + FP_BM * FP_PART_ROW;",
     "float* const staged = shared;", kGathered, nullptr, kSplitInTwo},
    {"NoGatheredBound", "d + e < FP_DEPTH && fp_is_inside(a, place, {})", "d + e < FP_DEPTH",
     kGathered, "", kSmall},
    {"RowsDoNotCarry", "    if (tap.s == FP_S) next_row();\n    if (FP_VOLUME &&",
     "    if (FP_VOLUME &&", kGathered, "", kSmall},
    {"PlanesDoNotCarry", "    if (FP_VOLUME && tap.r == FP_R) next_plane();\n    if (FP_VOLUME ?",
     "    if (FP_VOLUME ?", kVolume, "", kSmall},
    {"ChannelsDoNotCarry", "if (FP_VOLUME ? tap.t == FP_T : tap.r == FP_R) next_channel();", "",
     kGathered, "", kSmall},
    {"RowsBeginWhereTheyEnded", "row - FP_S * column", "row", kGathered, "", kSmall},
    {"RowsEndWhereTheyBegan", "place.w -= FP_S * FP_DILATION_W, ", "", kGathered, "", kSmall},
    {"PlanesBeginWhereTheyEnded", "plane - FP_R * row", "plane", kVolume, "", kSmall},
    {"PlanesEndWhereTheyBegan", "place.h -= FP_R * FP_DILATION_H, ", "", kVolume, "", kSmall},
    {"ChannelsBeginWhereTheyEnded", "a.input_stride[1] - FP_R * row", "a.input_stride[1]",
     kGathered, "", kSmall},
    {"VolumesBeginWhereTheyEnded", "a.input_stride[1] - FP_T * plane", "a.input_stride[1]", kVolume,
     "", kSmall},
    {"NoFirstTap", "pixel.at + fp_tap_offset(a, tap), tap.t", "pixel.at, tap.t", kGathered, "",
     kSmall},
    {"ChannelsInnermostDoNotReturn", "place.at -= FP_C * a.input_stride[1];", "", kFewChannels, "",
     kSmall},
    {"ChannelsInnermostDoNotCarry", "if (!FP_WHOLE && tap.s == FP_S) next_row();", "", kFewChannels,
     "", kSmall},
    {"PlanesDoNotCarryInSlices", "if (!FP_WHOLE && FP_VOLUME && tap.r == FP_R) next_plane();", "",
     kSlices, "", kSmall},
    {"NoBoundOfPlanes", "(!FP_VOLUME || (unsigned)d < a.input_d) && ", "", kVolume, "", kSmall},
    {"PlanesUndilated", "tap.t * FP_DILATION_D + pixel.d", "tap.t + pixel.d", kVolume, "", kSmall},
    {"PlanesOfTheFirstImage", "FP_VOLUME ? fp_divide(plane, a.depth) : plane", "plane", kVolume,
     kOutside, kSmall},
    {"NoPaddingOfPlanes", "at.o * FP_STRIDE_D - FP_PAD_D", "at.o * FP_STRIDE_D", kVolume, "",
     kSmall},
    {"NoGatheredChannelTail", "const bool there = k < FP_K && d + e < FP_DEPTH;",
     "const bool there = d + e < FP_DEPTH;", kGathered, kOutside, kSmall},
    {"NoStoreTailAlongPixels", "  if (tile.pixel + m >= a.pixels) return;\n  FP_ONE_BY_ONE",
     "  FP_ONE_BY_ONE", kGathered, kOutside, kSmall},
    {"FirstGroupsInput", "(long long)group * FP_C), d", "0), d", kGroups, nullptr, kSmall},
    {"CopiesWhateverTheAddress", "return !FP_WIDE || a.wide;", "return true;", kCrooked,
     "misaligned", kSmall},
    {"NoRoundingToTf32", "to[i] = fp_to_tf32(to[i]);", ";", kTf32, nullptr,
     "--tf32=1 --pin=gpu_tensor:64x64w2x2x1c4s4"},
};

class TensorMutants : public testing::TestWithParam<Mutant> {};

TEST_P(TensorMutants, AreNoticed) { expect_noticed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, TensorMutants, testing::ValuesIn(kMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
