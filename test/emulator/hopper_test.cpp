// SPDX-License-Identifier: MIT
// The kernel for Hopper in the emulator, through the C API: shapes that its copies must get right,
// every tile, and what its solver refuses.
#include <fmt/format.h>

#include "backend/backend.hpp"
#include "driver_calls.hpp"
#include "emulated.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

class DeviceHopper : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceId device = find_device("cuda:0");
    ASSERT_EQ(device.backend->traits(device.index).arch, "sm_90a") << "gpu-check leaves these out";
  }
};

/// Landings of asynchronous work differ from block to block and from stream to stream.
void expect_right_in_all_orders(const Handle& handle, const std::string& problem,
                                const char* solver = "gpu_hopper") {
  for (std::uint64_t stream : {0, 1, 2})
    expect_right_on_device(handle, driver::parse_problem(problem), solver, {.stream = stream});
}

// Strides, padding that differs by axis and side, filters that are not square, channels that fill
// no piece of 64, and outputs that fill no tile.
TEST_F(DeviceHopper, Shapes) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  for (const char* problem : {
           "f16:3x72x9x11:nhwc;conv(f16:96x72x3x2:nhwc,pad=1x0,stride=2x1);bias(f32:1x96x1x1)",
           "f16:1x16x21x17:nhwc;conv(f16:160x16x7x7:nhwc,pad=3x3,stride=2x2);activation(relu)",
           "bf16:2x64x7x9:nhwc;conv(bf16:200x64x5x3:nhwc,pad=0x2,pad_hi=3x1,dilation=1x3)",
           "bf16:5x136x6x5:nhwc;conv(bf16:72x136x1x1:nhwc);norm(spatial,f32:1x72x1x1);"
           "add(bf16:5x72x6x5:nhwc);activation(gelu_erf)",
           "f16:2x24x40:s960,1,24;conv(f16:80x24x3:s72,1,24,pad=1,stride=3)",
       })
    expect_right_in_all_orders(handle, problem);
}

void expect_right_in_tiles(const std::string& solver, std::initializer_list<const char*> tiles,
                           const char* problem, const std::string& options = "") {
  const Handle handle = emulated_handle();
  std::uint64_t stream = 0;
  for (const char* tile : tiles) {
    SCOPED_TRACE(tile);
    driver::check(
        fuseplanSetOptions(handle.get(), (options + "--pin=" + solver + ":" + tile).c_str()));
    expect_right_on_device(handle, driver::parse_problem(problem), solver.c_str(),
                           {.stream = ++stream});
  }
}
TEST_F(DeviceHopper, EveryTile) {
  expect_right_in_tiles(
      "gpu_hopper", {"128x256", "256x128", "128x192", "128x128", "256x64"},
      "f16:3x72x13x9:nhwc;conv(f16:200x72x3x2:nhwc,pad=1x0);scale_shift(f32:1x200x1x1)");
}

// Results that cannot leave through the copy engine: other types, channels or strides.
TEST_F(DeviceHopper, StoresOfThreads) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x128");
  for (const char* problem : {
           "f16:2x64x9x9:nhwc;conv(f16:75x64x3x3:nhwc,pad=1x1);bias(f32:1x75x1x1)",
           "bf16:2x40x9x7:nhwc;conv(bf16:96x40x2x3:nhwc)->bf16:2x96x8x5:nchw",
           "f16:1x40x9x7:nhwc;conv(f16:96x40x2x3:nhwc)->f16:1x96x8x5:s9999,1,999,104",
           "f16:2x40x9x7:nhwc;conv(f16:90x40x2x3:nhwc);bias(f32:1x90x1x1)->f32:2x90x8x5:nhwc",
           "f16:2x40x9x7:nhwc;conv(f16:75x40x2x3:nhwc)->f32:2x75x8x5:nhwc",
           "f16:2x40x9x7:nhwc;conv(f16:90x40x2x3:nhwc)->f32:2x90x8x5:s9999,1,999,111",
       })
    expect_right_in_all_orders(handle, problem);
}

// f32 as tf32: 32 channels in a step, which end within one and within a product; and off 16 bytes.
TEST_F(DeviceHopper, RoundsToTf32) {
  const char* const kProblem =
      "f32:3x44x13x9:nhwc;conv(f32:200x44x3x2:nhwc,pad=1x0);scale_shift(f32:1x200x1x1)";
  expect_right_in_tiles("gpu_hopper",
                        {"128x256", "256x128", "128x192", "128x128", "256x64", "128x64"}, kProblem,
                        "--tf32=1 ");
  const Handle handle = emulated_handle("--cache=mem --tf32=1 --pin=gpu_hopper:128x64");
  for (const char* problem : {
           kProblem,
           "f32:2x4x12x10:nhwc;conv(f32:64x4x3x3:nhwc,pad=1x1,stride=2x1);activation(relu)",
           "f32:2x100x7x7:nhwc;conv(f32:65x100x1x1:nhwc);bias(f32:1x65x1x1)",
           "f32:2x64x7x5:nhwc;conv(f32:66x64x3x3:nhwc,pad=1x1);add(f32:2x66x7x5:nhwc)",
       })
    expect_right_in_all_orders(handle, problem);
  expect_right_on_device(handle, driver::parse_problem(kProblem), "gpu_hopper", {.misalign = 1});
}

// Results whose neighbours are pixels: of an even number, which leave two or four at a time, of an
// odd one, of planes with gaps, in f32, and fewer channels than a tile has.
TEST_F(DeviceHopper, StoresAlongPlanes) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  for (const char* problem : {
           "f16:3x64x6x7:nhwc;conv(f16:75x64x3x3:nhwc,pad=1x1);norm(spatial,f32:1x75x1x1)->"
           "f16:3x75x6x7:nchw",
           "bf16:3x40x7x9:nhwc;conv(bf16:96x40x1x3:nhwc,pad=0x1);add(bf16:3x96x7x9:nchw)->"
           "bf16:3x96x7x9:nchw",
           "f16:2x64x6x8:nhwc;conv(f16:70x64x1x1:nhwc);activation(relu)->f16:2x70x6x8:s9999,99,16,"
           "1",
           "f16:2x64x6x8:nhwc;conv(f16:70x64x1x1:nhwc)->f32:2x70x6x8:nchw",
           "f16:3x64x6x7:nhwc;conv(f16:70x64x1x1:nhwc)->f32:3x70x6x7:nchw",
           "f16:3x64x6x10:nhwc;conv(f16:75x64x3x3:nhwc,pad=1x1);add(f16:3x75x6x10:nchw)->"
           "f16:3x75x6x10:nchw",
       })
    expect_right_in_all_orders(handle, problem);
}

// Pixels that threads gather: planes and interleaved channels, strides, padding that differs by
// axis and side, depths that fill no step, filters that the copy engine fetches and others.
TEST_F(DeviceHopper, GatheredShapes) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper_gather:128x64");
  for (const char* problem : {
           "f16:3x72x9x11:nchw;conv(f16:96x72x3x2,pad=1x0,stride=2x1);bias(f32:1x96x1x1)",
           "bf16:2x24x7x9:nchw;conv(bf16:130x24x5x3,pad=0x2,pad_hi=3x1,dilation=1x3)",
           "f16:2x3x21x17:nchw;conv(f16:64x3x7x7,pad=3x3,stride=2x2);activation(relu)",
           "f16:2x3x12x16:nhwc;conv(f16:64x3x3x3:nhwc,pad=1x1);scale_shift(f32:1x64x1x1)",
           "bf16:5x136x6x5:nchw;conv(bf16:72x136x1x1);norm(spatial,f32:1x72x1x1);"
           "add(bf16:5x72x6x5);activation(gelu_erf)",
           "f16:2x24x40:nchw;conv(f16:80x24x3,pad=1,stride=3)",
           "f16:2x20x8x8:s9999,1,300,31;conv(f16:64x20x3x3:nhwc,pad=1x1)",
           "bf16:2x17x8x6:nchw;conv(bf16:9x17x1x1)->f32:2x9x8x6:nchw",
           "f16:2x16x8x6:nchw;conv(f16:40x16x3x3,pad=1x1)->f16:2x40x8x6:nhwc",
           "f16:2x16x8x6:nchw;conv(f16:37x16x3x3,pad=1x1)->f16:2x37x8x6:nhwc",
       })
    expect_right_in_all_orders(handle, problem, "gpu_hopper_gather");
}

TEST_F(DeviceHopper, GatheredInEveryTile) {
  expect_right_in_tiles(
      "gpu_hopper_gather", {"128x256", "128x192", "128x128"},
      "f16:3x24x13x9:nchw;conv(f16:200x24x3x2,pad=1x0);scale_shift(f32:1x200x1x1)");
}

TEST_F(DeviceHopper, GatheredBlending) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper_gather:128x64");
  for (const char* problem : {"f16:2x32x8x9:nchw;conv(f16:72x32x3x3,pad=1x1);activation(elu)",
                              "bf16:2x3x9x9:nhwc;conv(bf16:72x3x3x3:nhwc,pad=1x1);activation(elu)"})
    expect_right_on_device(handle, driver::parse_problem(problem), "gpu_hopper_gather",
                           {.blend = true});
}

TEST_F(DeviceHopper, Blending) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  expect_right_on_device(
      handle,
      driver::parse_problem("f16:2x64x9x9:nhwc;conv(f16:72x64x3x3:nhwc,pad=1x1);activation(elu)"),
      "gpu_hopper", {.blend = true});
}

// One binary for all sizes, and one for pointers that copies cannot take.
TEST(EmulatedHopper, OneBinaryForAllSizes) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  emulator::reset();
  for (const char* size : {"2x16x8x8", "1x16x5x9", "3x16x8x7"})
    for (int misalign : {0, 1})
      expect_right_on_device(
          handle,
          driver::parse_problem("f16:" + std::string(size) +
                                ":nhwc;conv(f16:16x16x3x3:nhwc,pad=1x1);activation(relu)"),
          "gpu_hopper", {.misalign = misalign});
  EXPECT_EQ(emulator::counters().compiled.size(), 1u);
}

// Filters that the copy engine does not fetch, and results that it does not store, may lie
// anywhere.
TEST(EmulatedHopper, GathersFromAnyAddress) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper_gather:128x64");
  struct Row {
    const char *problem, *kernel;
  };
  for (const Row& row :
       {Row{"f16:2x16x8x6:nchw;conv(f16:24x16x3x3,pad=1x1);activation(relu)", "fp_conv_plain"},
        Row{"f16:2x3x7x5:nchw;conv(f16:24x3x3x3,pad=1x1);activation(relu)", "fp_conv_gather"}}) {
    emulator::reset();
    expect_right_on_device(handle, driver::parse_problem(row.problem), "gpu_hopper_gather",
                           {.misalign = 1});
    ASSERT_EQ(emulator::counters().launches.size(), 1u) << row.problem;
    EXPECT_EQ(emulator::counters().launches[0].kernel, row.kernel) << row.problem;
  }
}

// Random values are hardly ever halfway between two of tf32.
TEST(EmulatedHopper, TiesOfTf32GoToEven) {
  const Handle handle = emulated_handle("--cache=mem --tf32=1 --pin=gpu_hopper:128x64");
  std::vector<double> ties(16 * 8);
  for (std::size_t i = 0; i < ties.size(); ++i)
    ties[i] = 1 + static_cast<double>(2 * (i % 7) + 1) / 2048;
  for (int misalign : {0, 1}) {
    EmulatedCase c(driver::parse_problem("f32:1x8x6x6:nhwc;conv(f32:16x8x1x1:nhwc)"),
                   {.misalign = misalign});
    c.set_parameter(0, ties);
    c.compile(handle.get());
    c.execute(handle.get());
    EXPECT_TRUE(c.compare().ok()) << misalign << ": " << c.compare().describe();
  }
}

// One binary where two pixels are gathered at once, rows having an even number of columns at even
// distances, and one where they are not; each for all sizes whose results leave four at a time.
TEST(EmulatedHopper, GathersPairsWhereRowsAreEven) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper_gather:128x64");
  emulator::reset();
  const auto expect_binaries = [&](std::size_t count, std::initializer_list<const char*> inputs) {
    for (const char* input : inputs)
      for (int misalign : {0, 1}) {
        SCOPED_TRACE(input);
        expect_right_on_device(
            handle,
            driver::parse_problem("f16:" + std::string(input) + ";conv(f16:64x16x3x3,pad=1x1)"),
            "gpu_hopper_gather", {.misalign = misalign});
        EXPECT_EQ(emulator::counters().launches.back().kernel,
                  misalign != 0 ? "fp_conv_plain" : "fp_conv_gather");
        EXPECT_EQ(emulator::counters().compiled.size(), count);
      }
  };
  expect_binaries(1, {"2x16x8x8:nchw", "5x16x6x10:nchw", "1x16x2x2:nchw", "2x16x8x8:s1100,66,8,1"});
  expect_binaries(2, {"3x16x8x7:nchw", "2x16x8x8:s1100,65,8,1", "2x16x8x8:s1101,66,8,1",
                      "2x16x8x8:s1500,76,9,1"});
}

// Every form of pairs: all paddings' parities, filters of one to seven columns, steps of several
// shifts, last steps of fewer channels, filters that stay.
TEST_F(DeviceHopper, GatheredPairs) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper_gather:128x64");
  for (const char* problem : {
           "f16:5x20x9x8:nchw;conv(f16:96x20x3x3,pad=1x1);bias(f32:1x96x1x1)",
           "bf16:3x136x6x10:nchw;conv(bf16:72x136x1x1);add(bf16:3x72x6x10);activation(gelu_erf)",
           "f16:2x16x12x6:nchw;conv(f16:64x16x3x3,pad=2x0,pad_hi=1x2,stride=2x1,dilation=2x1)",
           "f16:2x16x9x12:nchw;conv(f16:64x16x1x7,pad=0x3);activation(relu)",
           "f16:2x24x11x4:nchw;conv(f16:64x24x7x1,pad=3x0)",
           "bf16:2x8x14x10:nchw;conv(bf16:72x8x5x5,pad=2x2)",
           "f16:2x8x10x12:nchw;conv(f16:64x8x7x7,pad=3x3)",
           "f16:2x3x12x16:nchw;conv(f16:64x3x3x3,pad=1x1);scale_shift(f32:1x64x1x1)",
           "f16:2x16x8x6:nchw;conv(f16:40x16x2x3,pad=1x1)->f16:2x40x9x6:nhwc",
           // Filters that stay and leave room for as many stages as groups gather, and for fewer.
           "f16:2x120x8x8:nchw;conv(f16:64x120x3x3:nhwc,pad=1x1)",
           "f16:2x140x8x8:nchw;conv(f16:64x140x3x3:nhwc,pad=1x1)",
       })
    expect_right_in_all_orders(handle, problem, "gpu_hopper_gather");
  expect_right_in_tiles("gpu_hopper_gather", {"128x256", "128x192", "128x128"},
                        "f16:3x24x13x8:nchw;conv(f16:200x24x3x3,pad=1x1)");
}

// Groups that share tiles: of every size, more than tiles end with, filters in both layouts, blocks
// that go on to other channels and to the last few, pointers off 16 bytes, and f32 as tf32.
TEST_F(DeviceHopper, PackedGroups) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  for (const char* problem : {
           "f16:2x152x9x11:nhwc;conv(f16:152x4x3x3:nhwc,pad=1x1,groups=38);bias(f32:1x152x1x1)",
           "bf16:5x136x7x7:nhwc;conv(bf16:136x8x3x3:nhwc,pad=1x1,groups=17);activation(relu)",
           "f16:3x144x9x8:nhwc;conv(f16:144x16x2x3,pad=1x0,stride=2x1,groups=9);activation(silu)",
           "bf16:2x256x5x6:nhwc;conv(bf16:256x32x3x3:nhwc,pad=2x2,dilation=2x2,groups=8);"
           "norm(spatial,f32:1x256x1x1);add(bf16:2x256x5x6:nhwc)",
           "f16:2x192x9x7:nhwc;conv(f16:192x64x3x3,pad=1x1,groups=3)->f32:2x192x9x7:nchw",
           "f16:2x32x9x7:nhwc;conv(f16:32x8x1x1:nhwc,groups=4);bias(f32:1x32x1x1)",
           "f16:1x216x9x11:nhwc;conv(f16:216x4x3x3,pad=1x1,groups=54);bias(f32:1x216x1x1)",
           "bf16:1x216x9x11:nhwc;conv(bf16:216x8x3x3:nhwc,pad=1x1,groups=27);activation(relu)",
           "f16:2x40x17:nhwc;conv(f16:40x4x3,pad=1,groups=10)",
           "f16:2x104x9x8:nhwc;conv(f16:104x2x3x3:nhwc,pad=1x1,groups=52);bias(f32:1x104x1x1)",
       }) {
    expect_right_in_all_orders(handle, problem);
    expect_right_on_device(handle, driver::parse_problem(problem), "gpu_hopper", {.misalign = 1});
  }
  expect_right_in_tiles(
      "gpu_hopper", {"256x64"},
      "f16:3x128x13x9:nhwc;conv(f16:128x16x3x3:nhwc,pad=1x1,groups=8);scale_shift(f32:1x128x1x1)");
  for (const char* problem : {"f32:2x96x9x7:nhwc;conv(f32:96x16x3x3:nhwc,pad=1x1,groups=6)",
                              "f32:1x216x9x7:nhwc;conv(f32:216x2x3x3:nhwc,pad=1x1,groups=108)"})
    expect_right_in_tiles("gpu_hopper", {"128x64"}, problem, "--tf32=1 ");
}

// Filters that are loaded 16 bytes at once; input and output are where the copy engine wants them.
TEST(EmulatedHopper, LoadsPackedFiltersWhereTheyLie) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  for (const int misalign : {0, 1}) {
    expect_right_on_device(
        handle, driver::parse_problem("f16:1x64x9x7:nhwc;conv(f16:64x8x3x3:nhwc,pad=1x1,groups=8)"),
        "gpu_hopper", {.misalign_parameters = misalign});
    EXPECT_EQ(emulator::counters().launches.back().kernel,
              misalign != 0 ? "fp_conv_plain" : "fp_conv_hopper");
  }
}

// Maps are encoded by the launch, which allocates nothing and may be captured.
TEST(EmulatedHopper, EncodesMapsWhileCaptured) {
  const Handle handle = emulated_handle("--cache=mem --pin=gpu_hopper:128x64");
  EmulatedCase c(driver::parse_problem("f16:1x64x9x9:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1)"));
  c.compile(handle.get());
  emulator::reset();
  void* const stream = emulator::new_stream(false);
  driver::check(fuseplanSetStream(handle.get(), stream));
  const CapturedGraph graph(stream, [&] { c.launch(handle.get()); });
  EXPECT_EQ(graph.result(), 0);
  const emulator::Counters counters = emulator::counters();
  EXPECT_EQ(counters.capture_violations, 0);
  ASSERT_EQ(counters.launches.size(), 1u);
  EXPECT_EQ(counters.launches[0].kernel, "fp_conv_hopper");
  graph.launch(stream);
  driver::check(fuseplanSynchronize(handle.get()));
  EXPECT_TRUE(c.compare().ok());
}

std::string first_tile(const std::string& text) {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  return find_solver("gpu_hopper")->configs({problem, chain, {}}).front();
}

// No tile wider than the channels; the largest where there is work for all multiprocessors; smaller
// ones where that leaves most of them idle.
TEST_F(DeviceHopper, TilesByTheModel) {
  const std::string filter = ":nhwc;conv(f16:";
  EXPECT_EQ(first_tile("f16:64x64x56x56" + filter + "64x64x3x3:nhwc,pad=1x1)"), "256x64");
  EXPECT_EQ(first_tile("f16:256x256x28x28" + filter + "512x256x3x3:nhwc,pad=1x1)"), "128x256");
  EXPECT_EQ(first_tile("f16:1x512x14x14" + filter + "512x512x3x3:nhwc,pad=1x1)"), "128x64");
  // Three waves of tiles half as large beat two waves, of which the second is half empty.
  EXPECT_EQ(first_tile("f16:256x512x7x7" + filter + "512x512x3x3:nhwc,pad=1x1)"), "128x128");
}

std::string first_solver(const std::string& text) {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  const Traits traits = {.backend = "cuda", .arch = "sm_90a"};
  return std::string(select_solvers({problem, chain, traits}, {}).accepted.front()->id());
}

// Gathered where the tiles keep the device busy; else the kernel that shares a tile's depth.
TEST_F(DeviceHopper, GatheringLeadsWhereThereIsWork) {
  EXPECT_EQ(first_solver("f16:64x256x14x14:nchw;conv(f16:256x256x3x3,pad=1x1)"),
            "gpu_hopper_gather");
  EXPECT_EQ(first_solver("f16:1x256x14x14:nchw;conv(f16:256x256x3x3,pad=1x1)"), "gpu_tensor");
  EXPECT_EQ(first_solver("f16:1x256x14x14:nhwc;conv(f16:256x256x3x3:nhwc,pad=1x1)"), "gpu_hopper");
}

std::string refusal(const std::string& text, const std::string& arch = "sm_90a",
                    const char* solver = "gpu_hopper") {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  const Traits traits = {.backend = "cuda", .arch = arch};
  Verdict verdict(solver);
  find_solver(solver)->accepts({problem, chain, traits}, verdict);
  return verdict.accepted() ? "" : verdict.rejections().front().sentence();
}

TEST_F(DeviceHopper, RefusesWithAReason) {
  const std::string good = "f16:1x64x8x8:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1)";
  EXPECT_EQ(refusal(good), "");
  struct Row {
    std::string problem, word;
  };
  for (const Row& row : {
           Row{"f32:1x64x8x8:nhwc;conv(f32:64x64x3x3:nhwc)", "tf32 option"},
           Row{"f16:1x64x8x8:nchw;conv(f16:64x64x3x3:nchw)", "channels that are not contiguous"},
           Row{"f16:1x64x8x8:nhwc;conv(f16:64x64x3x3:nchw)", "filter whose channels"},
           Row{"f16:1x60x8x8:nhwc;conv(f16:64x60x3x3:nhwc)", "multiple of 8"},
           Row{"f16:1x64x8x8:nhwc;conv(f16:128x32x3x3:nhwc,groups=2)", "32 to 64"},
           Row{"f16:1x48x8x8:nhwc;conv(f16:48x24x3x3:nhwc,groups=2)", "a power of two"},
           Row{"f16:1x32x8x8:nhwc;conv(f16:32x1x3x3:nhwc,groups=32)", "1 to 1"},
           Row{"f16:1x64x8x8:nhwc;conv(f16:64x8x3x3:nhwc,groups=8,strict)", "infinities"},
           Row{"f16:1x64x8x8:nhwc;conv(f16:64x8x5x5:nhwc,groups=8)", "5 x 5 taps"},
           Row{"f16:1x64x10x10:nhwc;conv(f16:64x64x1x1:nhwc,stride=9x9)", "stride of 9"},
           Row{"f16:1x64x8x8:s9999,1,992,124;conv(f16:64x64x3x3:nhwc)", "a stride of 248 bytes"},
           Row{"f16:1x8x200x200:nhwc;conv(f16:8x8x2x2:nhwc,dilation=1x140)", "edge"},
       })
    EXPECT_NE(refusal(row.problem).find(row.word), std::string::npos)
        << row.problem << ": " << refusal(row.problem);
  for (const Row& row : {
           Row{"f16:1x64x8x8:nchw;conv(f16:64x64x3x3)", ""},
           Row{"f32:1x64x8x8:nchw;conv(f32:64x64x3x3)", "f16 or bf16"},
           Row{"f16:1x64x16x12:nchw;conv(f16:64x64x8x5)", "8 x 5 taps"},
           Row{"f16:1x192x8x8:nchw;conv(f16:64x192x3x3:nhwc)", "110592 values"},
           Row{"f16:1x64x8x8:nchw;conv(f16:64x32x3x3,groups=2)", "groups"},
           Row{"f16:1x64x8x8:nchw;conv(f16:7x64x3x3)", "8 or more"},
           Row{"f16:1x3x8x8:nchw;conv(f16:64x3x2x2)", "16 or more"},
           Row{"f16:1x64x9x9:s99999999999,999999999,9,1;conv(f16:64x64x3x3)",
               "5000000004 elements"},
       }) {
    const std::string said = refusal(row.problem, "sm_90a", "gpu_hopper_gather");
    EXPECT_NE(said.find(row.word), std::string::npos) << row.problem << ": " << said;
    EXPECT_EQ(said.empty(), row.word.empty()) << row.problem << ": " << said;
  }
  EXPECT_NE(refusal(good, "sm_90").find("tensor maps"), std::string::npos)
      << refusal(good, "sm_90");
  EXPECT_NE(refusal(good, "sm_80").find("sm_90a"), std::string::npos);
}

}  // namespace
}  // namespace fuseplan::test
