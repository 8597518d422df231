// SPDX-License-Identifier: MIT
// Mistakes in the kernel for Hopper, most of them of synchronisation: the emulator's model of
// asynchronous work must show each.
#include <gtest/gtest.h>

#include <string>

#include "mutants.hpp"

namespace fuseplan::test {
namespace {

const char* const kTile = "--pin=gpu_hopper:128x64";
const char* const kTf32Tile = "--tf32=1 --pin=gpu_hopper:128x64";
const char* const kTf32 = "f32:2x68x9x7:nhwc;conv(f32:90x68x3x3:nhwc,pad=1x1);bias(f32:1x90x1x1)";
const char* const kWide = "--pin=gpu_hopper:128x256";

// Blocks take three tiles each, whose channels alternate.
const char* const kConv =
    "f16:5x72x9x11:nhwc;conv(f16:96x72x3x2:nhwc,pad=1x0);scale_shift(f32:1x96x1x1)";
const char* const kOneStep =
    "f16:5x64x9x11:nhwc;conv(f16:96x64x1x1:nhwc);scale_shift(f32:1x96x1x1)";
const char* const kBoxes =
    "f16:9x16x9x11:nhwc;conv(f16:256x16x1x1:nhwc);scale_shift(f32:1x256x1x1)";

// Blocks change channels in the middle of their tiles, of the first.
const char* const kPacked = "f16:5x200x9x11:nhwc;conv(f16:200x8x3x2:nhwc,pad=1x0,groups=25)";
const char* const kPackedScalars =
    "f16:5x136x9x11:nhwc;conv(f16:136x4x3x2,pad=1x0,groups=34);bias(f32:1x136x1x1)";

const Mutant kMutants[] = {
    {"KeepsPackedFilters", "if (k != packed)", "if (packed == FP_K)", kPacked, nullptr, kTile},
    {"NoZerosAroundGroups", "  if (is_first) {", "  if (false) {", kPacked, nullptr, kTile},
    {"NoFenceBehindPackedFilters", "  fp_fence_async();\n  fp_named_barrier(FP_BARRIER_BOTH, 256);",
     "  fp_named_barrier(FP_BARRIER_BOTH, 256);", kPacked, "no fence", kTile},
    {"NoBarrierBeforePackedFilters",
     "  fp_named_barrier(FP_BARRIER_BOTH, 256);  // those before have been read\n  if", "  if",
     kPacked, nullptr, kTile},
    {"GroupsOfAllInputs", "if (c / size == n / size)", "if (c < FP_BN)", kPackedScalars, nullptr,
     kTile},
    {"InputsOfTheFirstChannels", "(FP_PACKED ? first.channel : 0u)", "0u", kPacked, nullptr, kTile},
    {"FiltersBehindTheLast", "if (k + n < FP_K) ", "", kPackedScalars, "", kTile},
    {"LosesTheLastTiles", "(a.tiles + fp_blocks() - 1) / fp_blocks()", "a.tiles / fp_blocks()",
     kPacked, nullptr, kTile},

    {"NoLastWait", "  fp_wgmma_wait<0>();\n", "", kConv, "ended before its products", kTile},
    {"NoWait", "    fp_wgmma_wait<1>();\n", "", kConv, nullptr, kTile},
    {"LastWaitOneGroupTooFew", "fp_wgmma_wait<0>", "fp_wgmma_wait<1>", kConv,
     "ended before its products", kTile},
    {"WaitOneGroupTooFew", "fp_wgmma_wait<1>", "fp_wgmma_wait<2>", kConv, nullptr, kTile},
    {"NoCommit", "    fp_wgmma_commit();\n", "", kConv, "ended before its products", kTile},
    {"OneWarpReleasesForAll", "if (fp_thread() % 32 == 0) fp_mbar_arrive(s.empty + stage);",
     "if (fp_thread() % 128 == 0) for (int i = 0; i < 4; ++i) fp_mbar_arrive(s.empty + stage);",
     kConv, "", kTile},
    {"WrongPhaseOfFull", "turn.stage, turn.parity);", "turn.stage, turn.parity ^ 1);", kConv, "",
     kTile},
    {"WrongPhaseOfEmpty", "turn.parity ^ 1)", "turn.parity)", kConv, "deadlock", kTile},
    {"WrongByteCount", "fp_mbar_expect(full, FP_BYTES_STAGE)", "fp_mbar_expect(full, FP_BYTES_A)",
     kConv, "deadlock", kTile},
    {"NoFullWait", "    fp_mbar_wait(s.full + turn.stage, turn.parity);\n", "", kConv, "", kTile},
    {"NoEmptyWait", "      fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);\n", "", kConv, "",
     kTile},
    {"WrongSwizzle", "(piece ^ row % 8)", "piece", kConv, nullptr, kTile},
    {"NoProxyFence", "    fp_fence_async();\n", "", kConv, "no fence", kTile},
    {"NoBarrierBeforeTheStore",
     "    fp_fence_async();\n    fp_named_barrier(FP_BARRIER_ONE + consumer, 128);\n",
     "    fp_fence_async();\n", kConv, "no fence", kTile},
    {"NoWaitBeforeStagingAgain", "if (thread == 0) fp_tma_wait_read<1>();", "", kBoxes, nullptr,
     kWide},
    {"WaitsForTheBoxTooOld", "fp_tma_wait_read<1>", "fp_tma_wait_read<2>", kBoxes, nullptr, kWide},
    {"NoBarrierBeforeStaging",
     "    fp_named_barrier(FP_BARRIER_ONE + consumer, 128);\n    FP_UNROLL", "    FP_UNROLL",
     kBoxes, "no fence", kWide},
    {"EndsBeforeItsStores", "if (FP_STORE == FP_BY_BOXES && thread == 0) fp_tma_wait_all();", "",
     kConv, "ended before its stores", kTile},
    {"FiltersAxesSwapped", "c, tap_s, tap_r, (int)", "c, tap_r, tap_s, (int)", kConv, nullptr,
     kTile},
    {"InputsAxesSwapped", "(unsigned short)(tap_s * FP_DILATION_W)",
     "(unsigned short)(tap_r * FP_DILATION_W)", kConv, nullptr, kTile},
    {"UnknownBarriers", "    fp_mbar_publish();\n", "", kConv, "cannot know yet", kTile},
    {"RegistersNotGiven", "    fp_regs_less<40>();\n", "", kConv, "deadlock", kTile},
    {"ChannelsOverwritten",
     "    fp_named_barrier(FP_BARRIER_BOTH, 256);  // those of the tile before have been read\n",
     "", kConv, nullptr, kTile},
    {"ChannelsReadTooEarly",
     "    if constexpr (FP_CHANNELS > 0) fp_named_barrier(FP_BARRIER_BOTH, 256);\n", "", kOneStep,
     nullptr, kTile},
    {"SumsOfTheTileBefore", ", step + i)", ", 1)", kConv, nullptr, kTile},
    {"PairsBehindTheLastChannel", "rows[half].inside && k + first < FP_K)\n          fp_put",
     "rows[half].inside)\n          fp_put", kTf32, "", kTf32Tile},
    {"PairsHalvesSwapped", "fp_as_bits(results[1])", "fp_as_bits(results[0])", kTf32, nullptr,
     kTf32Tile},
    {"StepsOf64Channels", "? 32 : 64", "? 64 : 64", kTf32, nullptr, kTf32Tile},
    {"NoTailOfTheBatch", "row.inside = pixel < a.pixels;", "row.inside = true;",
     "f16:2x16x9x9:nhwc;conv(f16:16x16x3x3:nhwc);add(f16:2x16x7x7:nhwc)", "outside all memory",
     kTile},
};

// Gathered: a filter of the copy engine's, three tiles for a block, planes of an even number of
// pixels; and one that threads gather too.
const char* const kGather = "--pin=gpu_hopper_gather:128x64";
const char* const kPlanes =
    "f16:5x24x9x13:nchw;conv(f16:96x24x3x2,pad=1x0);scale_shift(f32:1x96x1x1)";
const char* const kOddPlanes = "f16:3x8x11x9:nchw;conv(f16:64x8x3x3,pad=1x1)";
const char* const kOddShifts = "f16:2x8x11x9:nchw;conv(f16:64x8x7x5,pad=3x2)";
const char* const kTwoTiles = "f16:2x9x8x6:nchw;conv(f16:72x9x3x3,pad=1x1)";
const char* const kPairs = "f16:3x16x10x8:nchw;conv(f16:96x16x3x3,pad=1x1);bias(f32:1x96x1x1)";
const char* const kStem = "f16:3x3x12x9:nchw;conv(f16:64x3x5x3,pad=2x1);bias(f32:1x64x1x1)";

const Mutant kGatherMutants[] = {
    {"NoProxyFence", "  fp_fence_async();\n  fp_warp_barrier();", "  fp_warp_barrier();", kPlanes,
     "no fence", kGather},
    {"NoEmptyWait", "  fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);\n", "", kPlanes, "",
     kGather},
    {"CopiesFromBetween", "(int)(start - shift), (int)k", "(int)start, (int)k", kPlanes,
     "multiples of 16", kGather},
    {"NotShifted", "wanted != shift", "false", kPlanes, nullptr, kGather},
    {"FirstOfNonePairs", "if (!first || !fp_has", "if (!fp_has", kOddShifts, nullptr, kGather},
    {"BothGroupsTakeAll", "if (next == group)", "if (true)", kPlanes, "", kGather},
    {"PairsColumnsOutsideCount", "(unsigned)(w + i) < words ? ~0u : 0u", "~0u", kPairs, nullptr,
     kGather},
    {"PairsRowsOutsideCount", "(unsigned)row < a.input_h ? ~0u", "true ? ~0u", kPairs, nullptr,
     kGather},
    {"PairsWordsOutsideAreRead", "fp_clamp(w + i, words)", "w + i", kPairs, "outside all memory",
     kGather},
    {"PairsHalvesSwapped", "? 0x32u : 0x10u", "? 0x10u : 0x32u", kPairs, nullptr, kGather},
    {"PairsSecondIsTheFirst", "(FP_OFF + i % FP_S + pixel) / 2", "(FP_OFF + i % FP_S) / 2", kPairs,
     nullptr, kGather},
    {"PairsLastStepIsWhole", "fp_load_words<FP_LAST_CHANNELS>",
     "fp_load_words<FP_CHANNELS_AT_ONCE>", kPairs, "outside all memory", kGather},
    {"FoursHighIsLow", "(results[V - 2], results[V - 1])", "(results[0], results[1])", kPairs,
     nullptr, kGather},
    {"FiltersWithoutAFence", "fp_pack(bits));\n  }\n  fp_fence_async();", "fp_pack(bits));\n  }",
     kStem, "no fence", kGather},
    {"FiltersOfTheFirstTile", "(step * FP_FILTER_ROWS + (FP_PACKED ? 0 : k))",
     "(step * FP_FILTER_ROWS)", kTwoTiles, nullptr, kGather},
    {"OneArrivalTooFew", "window::threads / 32 + (", "window::threads / 32 - 1 + (", kPlanes, "",
     kGather},
    {"OneArrivalTooMany", "window::threads / 32 + (", "window::threads / 32 + 1 + (", kPlanes,
     "deadlock", kGather},
    {"WrongSwizzle", "(piece ^ row % 8)", "piece", kPlanes, nullptr, kGather},
    {"UnknownBarriers", "    fp_mbar_publish();\n", "", kPlanes, "cannot know yet", kGather},
    {"TapsAxesSwapped", "window.row[tap / FP_S], window.column[tap % FP_S]",
     "window.row[tap % FP_R], window.column[tap / FP_R]", kPlanes, nullptr, kGather},
    {"ColumnsOutsideCount", "(unsigned)(w + t % FP_S * FP_DILATION_W) < a.input_w", "true", kStem,
     nullptr, kGather},
    {"RowsOutsideCount", "(unsigned)(h + t / FP_S * FP_DILATION_H) < a.input_h", "true", kPlanes,
     nullptr, kGather},
    {"RowsOutsideAreRead", "fp_clamp(h + r * FP_DILATION_H, a.input_h)", "(h + r * FP_DILATION_H)",
     kPlanes, "outside all memory", kGather},
    {"PixelsBehindTheBatchAreRead", "const bool is_there = pixel < a.pixels;",
     "const bool is_there = true;", kPlanes, "outside all memory", kGather},
    {"ChannelsBehindTheLastAreRead",
     "return FP_WHOLE_STEPS || step * FP_CHANNELS_AT_ONCE + c < FP_C;", "return true;", kPlanes,
     "outside all memory", kGather},
    {"SelectorsSwapped", "first + (second << 8)", "second + (first << 8)", kStem, nullptr, kGather},
    {"SameChannelsInEachStep", "window.row[r] += ", "0 * ", kPlanes, nullptr, kGather},
    {"FiltersOfTheFirstStep", "step * FP_CHANNELS_AT_ONCE + i / FP_TAPS;", "i / FP_TAPS;",
     "f16:1x9x8x6:nchw;conv(f16:64x9x3x3,pad=1x1)", nullptr, kGather},
    {"PairsThatAreNone", "if constexpr (V == FP_TOGETHER)", "if constexpr (true)", kOddPlanes,
     nullptr, kGather},
    {"PlanesReadTooEarly",
     "    fp_named_barrier(FP_BARRIER_ONE + fp_consumer(), 128);\n    fp_finish_planes",
     "    fp_finish_planes", kPlanes, nullptr, kGather},
    {"PlanesOverwritten",
     "    fp_named_barrier(FP_BARRIER_ONE + fp_consumer(), 128);  // those before have been read\n",
     "", kPlanes, nullptr, kGather},
    {"ChannelsBehindTheLastAreWritten", "    if (channel >= FP_K) break;\n", "", kPlanes, "",
     kGather},
    {"PixelsBehindTheLastAreWritten", "if (rows[0].inside) fp_put_together", "fp_put_together",
     kPlanes, "", kGather},
};

class HopperMutants : public testing::TestWithParam<Mutant> {};

TEST_P(HopperMutants, AreNoticed) { expect_noticed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, HopperMutants, testing::ValuesIn(kMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

INSTANTIATE_TEST_SUITE_P(Gathered, HopperMutants, testing::ValuesIn(kGatherMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
