// SPDX-License-Identifier: MIT
// Tensor-core convolutions whose depth the blocks of a cluster share, on the emulated device.
#include <fmt/format.h>

#include <cstring>

#include "emulated.hpp"

namespace fuseplan::test {
namespace {

struct SplitCase {
  const char *problem, *tile;
  unsigned blocks;
};

const SplitCase kCases[] = {
    // Channels last and wide, tails of pixels, channels and depth; the last of eight blocks have
    // nothing to sum.
    {"f16:2x40x9x7:nhwc;conv(f16:72x40x3x2:nhwc,pad=1x1,stride=2x1,dilation=1x2);bias(f32:"
     "1x72x1x1);add(f16:2x72x5x7:nhwc);activation(leakyrelu)",
     "64x64w2x2x1c4s4", 2},
    {"bf16:1x72x7x7:nhwc;conv(bf16:40x72x3x3:nhwc,pad=1x1);norm(spatial,f32:1x40x1x1);"
     "activation(silu)",
     "64x64w2x2x1c4s4", 8},
    {"f16:1x72x5x5:nhwc;conv(f16:136x72x3x3:nhwc,pad=1x1);scale_shift(f32:1x136x1x1)",
     "128x128w2x4x1c4s3", 8},
    // Warps share what a block has of the depth.
    {"f16:2x64x5x5:nhwc;conv(f16:70x64x3x3:nhwc,pad=1x1);bias(f32:1x70x1x1)", "32x64w1x2x4c8s3", 4},
    {"f32:1x40x6x7:nhwc;conv(f32:40x40x3x3:nhwc,pad=1x1);add(f32:1x40x6x7:nhwc);activation(elu)",
     "64x32w2x1x4c8s3", 8},
    // Pixels last: gathered, and finished along pixels with staged channels.
    {"f16:3x24x9x8:nchw;conv(f16:70x24x3x2,pad=2x0,pad_hi=1x1,stride=2x1,dilation=1x2);bias(f32:"
     "1x70x1x1);add(f16:3x70x5x7);activation(gelu_erf)",
     "64x64w2x2x1c4s4", 4},
    {"bf16:1x33x6x5:nchw;conv(bf16:37x33x3x3,pad=1x1);scale_shift(f32:1x37x1x1)",
     "128x128w2x4x1c4s3", 8},
    // Over a volume.
    {"f16:1x24x4x5x6:ndhwc;conv(f16:40x24x3x3x2:ndhwc,pad=1x1x1);bias(f32:1x40x1x1x1);add(f16:"
     "1x40x4x5x7:ndhwc);activation(relu)",
     "64x64w2x2x1c4s4", 8},
    // Groups; and channels that no wide access divides.
    {"bf16:1x96x7x7:nhwc;conv(bf16:96x48x3x3:nhwc,pad=1x1,groups=2);bias(f32:1x96x1x1)",
     "64x64w2x2x2c8s3", 2},
    {"f16:1x45x6x6:nhwc;conv(f16:41x45x3x3:nhwc,pad=1x1)", "64x32w2x1x4c8s3", 4},
};

class DeviceSplit : public testing::TestWithParam<SplitCase> {};

TEST_P(DeviceSplit, SumsOfAllBlocks) {
  const auto& [text, tile, blocks] = GetParam();
  const Handle handle = emulated_handle(
      fmt::format("--cache=mem --tf32=1 --pin=gpu_tensor:{}k{}", tile, blocks).c_str());
  const ProblemSpec problem = driver::parse_problem(text);
  for (int misalign : {0, 1})
    for (bool blend : {false, true}) {
      emulator::reset();
      expect_right_on_device(
          handle, problem, nullptr,
          {.stream = std::uint64_t{blend}, .blend = blend, .misalign = misalign});
      if (on_gpu()) continue;
      ASSERT_EQ(emulator::counters().launches.size(), 1u);
      EXPECT_EQ(emulator::counters().launches[0].cluster, blocks);
    }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSplit, testing::ValuesIn(kCases), [](const auto& info) {
  return fmt::format("{}k{}_{}", info.param.tile, info.param.blocks, info.index);
});

// The same bits whatever the order of threads and blocks.
TEST(DeviceSplitOrder, AnyOrderOfBlocks) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_tensor:64x64w2x2x1c4s4k8");
  std::vector<HostTensor> written;
  for (std::uint64_t seed : {0, 1, 2}) {
    EmulatedCase c(driver::parse_problem(kCases[1].problem));
    c.compile(handle.get());
    emulator::set_seed(test_seed() + seed);
    c.execute(handle.get());
    EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
    written.push_back(c.output());
    EXPECT_EQ(std::memcmp(written[0].data(), written[seed].data(), written[0].bytes()), 0);
  }
}

// One plan compiled for a size serves others: clusters too.
TEST(DeviceSplitSizes, OneBinaryForAllSizes) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_tensor:64x64w2x2x1c4s4k4");
  emulator::reset();
  for (const char* size : {"1x48x7x7", "2x48x5x9"})
    expect_right_on_device(
        handle, driver::parse_problem("f16:" + std::string(size) +
                                      ":nhwc;conv(f16:32x48x3x3:nhwc,pad=1x1);activation(relu)"));
  EXPECT_EQ(emulator::counters().compiled.size(), 1u);
}

}  // namespace
}  // namespace fuseplan::test
