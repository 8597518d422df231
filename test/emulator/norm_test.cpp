// SPDX-License-Identifier: MIT
// Batch normalisation for training on the emulated device: in one launch, in three and in clusters
// of blocks, what data far from zero and outliers do to it, and the same bits in any order of
// threads.
#include <fmt/format.h>

#include <cstring>

#include "emulated.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

Handle handle_for(const char* way) {
  return emulated_handle((std::string("--cache=mem --pin=gpu_norm:") + way).c_str());
}

const char* const kForms[] = {
    "f32:4x6x15x13:nchw;norm_training(spatial,f32:1x6x1x1);add(f32:4x6x15x13);activation(relu);"
    "scale_shift(f32:1x6x1x1)",
    "f16:4x24x8x16:nhwc;norm_training(spatial,f32:1x24x1x1,running);activation(relu)",
    "bf16:3x16x16x8:nchw;norm_training(spatial,f32:1x16x1x1,running);activation(relu)",
    "f16:40x16x4x2:nhwc;norm_training(per_activation,f32:1x16x4x2:nhwc,running)",
    "f32:4x6x5x3:nchw;activation_backward(tanh,f32:4x6x5x3);scale_shift(f32:1x6x1x1);"
    "activation_backward(mish,f32:4x6x5x3);norm_backward(per_activation,f32:1x6x5x3,f32:4x6x5x3)",
    "bf16:4x64x8x8:nhwc;activation_backward(tanh,bf16:4x64x8x8:nhwc);norm_backward(spatial,f32:"
    "1x64x1x1,bf16:4x64x8x8:nhwc)",
    "f16:4x5x16x16:nchw;activation_backward(relu,f16:4x5x16x16);norm_backward(spatial,f32:"
    "1x5x1x1,f16:4x5x16x16)",
    // One channel, one pixel, one image; one value for each statistic.
    "f32:9x1x6x7:nchw;norm_training(spatial,f32:1x1x1x1,running)",
    "f32:9x33x1x1:nchw;norm_training(spatial,f32:1x33x1x1,running)",
    "f32:1x7x1x1:nchw;norm_training(spatial,f32:1x7x1x1,running)",
    // Strides of their own, and types that differ.
    "f32:3x5x4x6:s500,7,120,19;norm_training(spatial,f32:1x5x1x1:s1,3,1,1,running)"
    "->f32:3x5x4x6:s200,37,9,1",
    "f16:3x5x4x6:nhwc;norm_training(per_activation,f32:1x5x4x6:nchw,running);activation(relu)",
    "f32:3x5x4x6:nchw;activation_backward(relu,f32:3x5x4x6);norm_backward(spatial,f32:"
    "1x5x1x1:s1,2,1,1,bf16:3x5x4x6:nhwc)->f16:3x5x4x6:s120,24,6,1",
};

/// By way; not every device has clusters.
class DeviceNorm : public testing::TestWithParam<const char*> {
 protected:
  const Handle handle_ = handle_for(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Ways, DeviceNorm, testing::Values("whole", "chunks", "cluster"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DeviceNorm, EveryForm) {
  for (const char* form : kForms) expect_right_on_device(handle_, driver::parse_problem(form));
}

std::vector<emulator::LaunchRecord> launches(const Handle& handle, Case& c, void* output) {
  emulator::reset();
  driver::check(fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), c.input().data(),
                                    c.output_desc(), output, c.args()));
  driver::check(fuseplanSynchronize(handle.get()));
  return emulator::counters().launches;
}
std::size_t launches_of(const Handle& handle, Case& c, void* output) {
  return launches(handle, c, output).size();
}

// Parts lie in the output: not where it is the input too, or where its old values count.
TEST(EmulatedNorm, ChunksOnlyWhereTheOutputHoldsThem) {
  const Handle handle = handle_for("chunks");
  const ProblemSpec problem = driver::parse_problem(kForms[1]);
  EmulatedCase c(problem);
  c.compile(handle.get());
  EXPECT_EQ(launches_of(handle, c, c.output().data()), 3u);
  EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
  EmulatedCase in_place(problem);
  in_place.compile(handle.get());
  in_place.reference();
  EXPECT_EQ(launches_of(handle, in_place, in_place.input().data()), 1u);
  std::memcpy(in_place.output().data(), in_place.input().data(), in_place.input().bytes());
  EXPECT_TRUE(in_place.compare().ok()) << in_place.compare().describe();
  EmulatedCase blended(problem, {.blend = true});
  blended.compile(handle.get());
  EXPECT_EQ(launches_of(handle, blended, blended.output().data()), 1u);
  EXPECT_TRUE(blended.compare().ok()) << blended.compare().describe();
}

// The blocks of a cluster need no room for their parts: one launch, wherever the output lies.
TEST(EmulatedNorm, ClustersWhereverTheOutputLies) {
  const Handle handle = handle_for("cluster");
  const auto one_of = [&](Case& c, void* output, unsigned blocks) {
    const auto record = launches(handle, c, output);
    ASSERT_EQ(record.size(), 1u);
    EXPECT_EQ(record[0].cluster, blocks) << driver::to_text(c.problem());
  };
  EmulatedCase in_place(driver::parse_problem(kForms[1]));
  in_place.compile(handle.get());
  in_place.reference();
  one_of(in_place, in_place.input().data(), 8);
  std::memcpy(in_place.output().data(), in_place.input().data(), in_place.input().bytes());
  EXPECT_TRUE(in_place.compare().ok()) << in_place.compare().describe();
  // The last one's strides leave gaps.
  for (const char* form : {kForms[0], kForms[4], kForms[10]}) {
    EmulatedCase blended(driver::parse_problem(form), {.blend = true});
    blended.compile(handle.get());
    one_of(blended, blended.output().data(), 8);
    EXPECT_TRUE(blended.compare().ok()) << form << ": " << blended.compare().describe();
  }
}

// As many blocks as keep a large device busy, down to blocks without members.
TEST(EmulatedNorm, ClustersOfEverySize) {
  const Handle handle = handle_for("cluster");
  for (const auto& [channels, blocks] : {std::pair{70, 2u}, {40, 4u}, {12, 8u}}) {
    EmulatedCase c(driver::parse_problem(fmt::format(
        "f32:1x{0}x1x5:nchw;norm_training(spatial,f32:1x{0}x1x1,running);activation(elu)",
        channels)));
    c.compile(handle.get());
    const auto record = launches(handle, c, c.output().data());
    EXPECT_EQ(record.back().cluster, blocks);
    EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
  }
}

struct Choice {
  const char* text;
  bool blend;
  std::size_t launches;
  unsigned cluster;
};

// A large device is idle with one block for each group here, busy there. Clusters cost less than
// three launches, but no more than eight blocks share a group; where three launches cannot serve,
// that is better than one.
TEST(EmulatedNorm, TheModelsChoice) {
  const Handle handle = emulated_handle();
  const Choice kChoices[] = {
      {"f32:2x1x512x512:nchw;norm_training(spatial,f32:1x1x1x1)", false, 3, 1},
      {"f32:2x1x512x512:nchw;norm_training(spatial,f32:1x1x1x1)", true, 1, 8},
      {"f32:16x33x32x32:nchw;norm_training(spatial,f32:1x33x1x1)", false, 1, 4},
      {"f32:2x600x4x4:nchw;norm_training(spatial,f32:1x600x1x1)", false, 1, 1}};
  for (const Choice& choice : kChoices) {
    EmulatedCase c(driver::parse_problem(choice.text), {.blend = choice.blend});
    c.compile(handle.get());
    const auto record = launches(handle, c, c.output().data());
    EXPECT_EQ(record.size(), choice.launches) << choice.text;
    EXPECT_EQ(record.back().cluster, choice.cluster) << choice.text;
    EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
  }
}

const char* const kNumerics[] = {
    "f32:8x3x20x20:nchw;norm_training(spatial,f32:1x3x1x1,running);activation(relu)",
    "f32:8x8x20x20:nhwc;norm_training(spatial,f32:1x8x1x1,running);activation(relu)",
    "f32:64x5x3x7:nchw;norm_training(per_activation,f32:1x5x3x7,running);activation(relu)"};

void expect_right_with(const std::vector<double>& values, EmulatedCase& c, const Handle& handle) {
  c.input().set_values(values);
  c.compile(handle.get());
  c.execute(handle.get());
  const Comparison comparison = c.compare();
  EXPECT_TRUE(comparison.ok()) << driver::to_text(c.problem()) << ": " << comparison.describe();
}

// Deviations of 1e-2 around 1e4, of which f32 holds ten steps and sum(x^2) none; and a value of 300
// times the others' size now and then, some channels' first among them.
TEST_P(DeviceNorm, DataFarFromZeroAndOutliers) {
  for (const char* text : kNumerics) {
    EmulatedCase far(driver::parse_problem(text));
    Random(1).fill(far.input(), 1e4 - 0.02, 1e4 + 0.02);
    expect_right_with(far.input().values(), far, handle_);
    EmulatedCase uneven(driver::parse_problem(text));
    std::vector<double> values = uneven.input().values();
    for (std::size_t i = 0; i < values.size(); i += 64) values[i] *= 300;
    expect_right_with(values, uneven, handle_);
  }
}

TEST_P(DeviceNorm, TheSameBitsInAnyOrderOfThreads) {
  for (const char* form : {kForms[1], kForms[6]}) {
    std::vector<HostTensor> written[2];
    for (std::uint64_t seed : {0, 1}) {
      EmulatedCase c(driver::parse_problem(form));
      c.compile(handle_.get());
      emulator::set_seed(test_seed() + seed);
      c.execute(handle_.get());
      c.fetch();
      written[seed].push_back(c.output());
      for (std::size_t i = 0; i < c.result_count(); ++i) written[seed].push_back(c.result(i));
    }
    for (std::size_t i = 0; i < written[0].size(); ++i)
      EXPECT_EQ(std::memcmp(written[0][i].data(), written[1][i].data(), written[0][i].bytes()), 0)
          << form << ", tensor " << i;
  }
}

}  // namespace
}  // namespace fuseplan::test
