// SPDX-License-Identifier: MIT
// Mistakes put into the kernel of batch normalisation for training.
#include <gtest/gtest.h>

#include "mutants.hpp"

namespace fuseplan::test {
namespace {

const char* const kPlanes =
    "f32:3x5x9x7:nchw;norm_training(spatial,f32:1x5x1x1,running);activation(elu)";
const char* const kPixels =
    "f16:3x40x7x16:nhwc;norm_training(spatial,f32:1x40x1x1,running);activation(elu)";
const char* const kBackward =
    "f32:3x33x9x7:nhwc;activation_backward(tanh,f32:3x33x9x7:nhwc);norm_backward(spatial,f32:"
    "1x33x1x1,f32:3x33x9x7:nhwc)";
const char* const kOutside = "outside all memory";
const char *const kWhole = "--pin=gpu_norm:whole", *const kChunks = "--pin=gpu_norm:chunks",
                  *const kCluster = "--pin=gpu_norm:cluster";

const Mutant kMutants[] = {
    {"NoBarrierBeforeRowsMeet", "    fp_barrier();\n    if (row < half) {", "    if (row < half) {",
     kPlanes, nullptr, kWhole},
    {"NoBarrierBeforeResultsAreShared",
     "  fp_barrier();\n  FP_UNROLL\n  for (int g = 0; g < groups",
     "  FP_UNROLL\n  for (int g = 0; g < groups", kPlanes, nullptr, kWhole},
    {"BarrierOfSomeRows", "    fp_barrier();\n    if (row < half) {",
     "    if (row < 2 * half) fp_barrier();\n    if (row < half) {", kPlanes, "divergent", kWhole},
    {"RowsHalvedTooEarly", "FP_THREADS / L / 2; half", "FP_THREADS / L / 4; half", kPixels, nullptr,
     kWhole},
    {"NoSlabTail", "share.inside = share.unit < a.groups;", "share.inside = true;", kBackward,
     kOutside, kWhole},
    {"NoResultTail", "fp_thread() < L && share.inside", "fp_thread() < L", kBackward, nullptr,
     kWhole},
    {"NoMemberTail", "last < a.members ? last : a.members", "last", kPlanes, kOutside, kChunks},
    {"NoItemTail", "if (m + i * rows < share.last) fp_finish_item", "fp_finish_item", kPlanes, "",
     kWhole},
    {"FirstItemOnly", "count = i + 1;", "count = 1;", kPixels, nullptr, kWhole},
    {"CountOfItemsOnly", "(float)(count * each)", "(float)count",
     "f32:2x3x16x16:nchw;norm_training(spatial,f32:1x3x1x1,running)", nullptr, kWhole},
    {"SquaresAroundTheFirstValue", "- context.first[g] - mean;", "- context.first[g];", kPixels,
     nullptr, kWhole},
    {"MeansWithoutWeights", "to_a = fmaf(apart, share, to_a)", "to_a = fmaf(apart, 0.5f, to_a)",
     kPlanes, nullptr, kWhole},
    {"NoSquareOfTheMeansDistance", "fmaf(apart * apart, before * share, b)", "b", kPlanes, nullptr,
     kWhole},
    {"ChannelOfTheFirstLane", "share.channel + g * a.channel_step, pairs", "share.channel, pairs",
     kPixels, nullptr, kWhole},
    {"StatisticsOfTheFirstLane", "share.statistics + g * a.statistics_step,\n",
     "share.statistics,\n", kPixels, nullptr, kWhole},
    {"BiasedRunningVariance", "product / a.freedom", "variance", kPlanes, nullptr, kWhole},
    {"AverageWithoutWhatWas", "(1.0f - a.factor) * before", "before", kPlanes, nullptr, kWhole},
    {"NoEpsilon", "variance + a.epsilon", "variance + 0.1f", kPlanes, nullptr, kWhole},
    {"SumsSwapped", "a.results[0], at) / unit, fp_get<float>(a.results[1], at)",
     "a.results[1], at) / unit, fp_get<float>(a.results[0], at)", kBackward, nullptr, kChunks},
    {"GradientsNotDivided", "FP_BACKWARD ? a.count : 1.0f", "1.0f", kBackward, nullptr, kChunks},
    {"LastChunkLeftOut", "chunk < a.chunks", "chunk + 1 < a.chunks", kPixels, nullptr, kChunks},
    {"PartsOverlap", "(long long)chunk * a.all_groups + group", "(long long)chunk + group", kPixels,
     nullptr, kChunks},
    {"NoGroupTailInTheJoin", "if (group >= a.groups) return;", "", kPixels, kOutside, kChunks},
    {"NoClusterBarrierBeforeTotalsMeet", "  fp_cluster_barrier();\n", "", kPlanes, nullptr,
     kCluster},
    {"ClusterBarrierOfTheFirstRow", "  fp_cluster_barrier();\n  if (fp_thread() >= L) return;",
     "  if (fp_thread() >= L) return;\n  fp_cluster_barrier();", kPlanes, "divergent", kCluster},
    {"LeavesWhileOthersRead", "  fp_cluster_wait();\n#endif\n}", "#endif\n}", kPlanes,
     "which has ended", kCluster},
    {"WaitsWithoutHavingArrived", "  fp_cluster_arrive();\n  shared +=", "  shared +=", kPlanes,
     "without an arrival", kCluster},
    {"ArrivesBeforeItHasRead", "  fp_join_cluster<V, L>(total, shared);\n  fp_cluster_arrive();",
     "  fp_cluster_arrive();\n  fp_join_cluster<V, L>(total, shared);", kPlanes, "second arrival",
     kCluster},
    {"ResultsOverTotalsThatOthersRead", "  shared += L * (2 * FP_GROUPS_OF(V) + 1);", "", kPixels,
     nullptr, kCluster},
    {"SumsOfTheFirstBlock", "fp_cluster_load(mine + 2 * g, rank)",
     "fp_cluster_load(mine + 2 * g, 0)", kPixels, nullptr, kCluster},
    {"CountOfTheFirstBlock", "fp_cluster_load(mine + 2 * groups, rank)",
     "fp_cluster_load(mine + 2 * groups, 0)", kPlanes, nullptr, kCluster},
    {"LastBlockLeftOut", "rank < fp_cluster_blocks()", "rank + 1 < fp_cluster_blocks()", kPixels,
     nullptr, kCluster},
    {"BlockBehindTheLast", "rank < fp_cluster_blocks()", "rank <= fp_cluster_blocks()", kPixels,
     "no block 8 in the cluster", kCluster},
    {"EveryBlockAverages", "total, fp_slab_part() == 0, shared", "total, true, shared", kPlanes,
     nullptr, kCluster},
    {"MembersOfTheFirstBlock", "return fp_cluster_rank();", "return 0;", kPlanes, nullptr,
     kCluster},
    {"SlabOfTheBlock", "return fp_cluster();", "return fp_block();", kPixels, nullptr, kCluster},
    {"PartOfTheFirstLane", "share.unit * FP_GROUPS_OF(V) + g", "share.unit * FP_GROUPS_OF(V)",
     kPixels, nullptr, kChunks},
};

class NormMutants : public testing::TestWithParam<Mutant> {};

TEST_P(NormMutants, AreNoticed) { expect_noticed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, NormMutants, testing::ValuesIn(kMutants),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace fuseplan::test
