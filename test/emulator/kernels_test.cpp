// SPDX-License-Identifier: MIT
// The kernels' own sources in the emulator, through the C API on "cuda:0", against the reference.
#include <fmt/format.h>

#include "backend/backend.hpp"
#include "emulated.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"
#include "support/shapes.hpp"

namespace fuseplan::test {
namespace {

/// Whether the solver takes the problem on the device.
bool takes(const Solver& solver, const ProblemSpec& spec) {
  const Problem problem = parse_problem(driver::to_text(spec));
  const SplitChain chain = optimize(lower(problem), {});
  const DeviceId device = find_device("cuda:0");
  Traits traits = device.backend->traits(device.index);
  traits.tf32 = true;
  Verdict verdict(solver.id());
  solver.accepts({problem, chain, traits}, verdict);
  return verdict.accepted();
}

class DeviceSamples : public testing::TestWithParam<SolverSample> {};

// Every type, in layouts that alternate from sample to sample. Tensors off a 16-byte boundary take
// the narrow entry, the others the wide one where there is one.
TEST_P(DeviceSamples, EveryType) {
  const Handle handle = emulated_handle("--cache=mem --tf32=1");
  const std::string solver(GetParam().solver->id());
  std::uint64_t stream = GetParam().text.size();
  int taken = 0;
  for (fuseplanDataType_t type : kTypes) {
    const ProblemSpec problem =
        converted(driver::parse_problem(GetParam().text), type, ++stream % 2 == 0);
    if (!takes(*GetParam().solver, problem)) continue;
    ++taken;
    for (int misalign : {0, 1})
      expect_right_on_device(handle, problem, solver.c_str(),
                             {.stream = stream, .misalign = misalign});
  }
  if (on_gpu() && taken == 0) {
    std::printf("%s is not for this device\n", solver.c_str());
  } else {
    EXPECT_GT(taken, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSamples, testing::ValuesIn(samples_on("cuda")),
                         [](const auto& info) { return info.param.name(); });

TEST(DeviceKernels, ResidualInPlace) {
  const Handle handle = emulated_handle("--cache=mem --tf32=1");
  int taken = 0;
  for (const SolverSample& sample : samples_on("cuda")) {
    const ProblemSpec plain = driver::parse_problem(sample.text);
    if (plain.ops.back().kind == driver::OpKind::norm_backward) continue;  // adds nothing
    const ProblemSpec problem = with_residual(plain);
    if (!takes(*sample.solver, problem)) continue;
    ++taken;
    expect_right_on_device(handle, problem, std::string(sample.solver->id()).c_str(),
                           {.in_place = true});
  }
  EXPECT_GT(taken, 20);
}

TEST(DeviceKernels, Blending) {
  const Handle handle = emulated_handle();
  for (const SolverSample& sample : samples_on("cuda"))
    if (sample.index == 0)
      expect_right_on_device(handle, driver::parse_problem(sample.text), nullptr, {.blend = true});
}

// So many pieces that a thread takes more than one lot of them, narrow and wide: channels that
// divide no block, some more than a block has threads, and lanes that are no channels.
TEST(DeviceKernels, ManyPiecesForAThread) {
  const Handle handle = emulated_handle();
  for (const char* text :
       {"f32:1x33x127x127:nhwc;norm(spatial,f32:1x33x1x1);activation(leakyrelu)",
        "f32:2x300x30x30:nhwc;norm(spatial,f32:1x300x1x1);activation(leakyrelu)",
        "f16:1x24x420x420:nhwc;norm(spatial,f32:1x24x1x1);activation(leakyrelu)",
        "f16:1x24x420x420:nchw;norm(spatial,f32:1x24x1x1);activation(leakyrelu)"})
    expect_right_on_device(handle, driver::parse_problem(text));
}

// Planes that end within pieces of 16 bytes are one long row, if they are not shorter than a piece
// and nothing has gaps.
TEST(DeviceKernels, PlanesThatEndWithinPieces) {
  const Handle handle = emulated_handle("--cache=mem");
  struct Row {
    std::string problem;
    const char* kernel;
  };
  for (const Row& row : {
           Row{"f16:3x5x7x7:nchw;norm(spatial,f32:1x5x1x1);activation(relu)", "fp_pointwise_flat"},
           Row{"f32:2x7x3x5:nchw;bias(f32:1x7x1x1);add(f32:2x7x3x5)", "fp_pointwise_flat"},
           Row{"bf16:9x2x3x3:nchw;scale_shift(f32:1x2x1x1)", "fp_pointwise_flat"},
           Row{"f32:70x33x5x5:nchw;bias(f32:1x33x1x1);activation(elu)", "fp_pointwise_flat"},
           Row{"f16:3x5x2x3:nchw;bias(f32:1x5x1x1)", "fp_pointwise"},
           Row{"f16:3x5x8x7:nchw;bias(f32:1x5x1x1)", "fp_pointwise_wide"},
           Row{"f16:3x5x7x7:s999,49,7,1;bias(f32:1x5x1x1)", "fp_pointwise"},
           Row{"f16:3x5x7x7:nchw;add(f16:1x5x7x1)", "fp_pointwise"},
       })
    for (bool blend : {false, true})
      for (int misalign : {0, 1}) {
        if (!on_gpu()) emulator::reset();
        expect_right_on_device(handle, driver::parse_problem(row.problem), "gpu_pointwise",
                               {.blend = blend, .misalign = misalign});
        if (on_gpu()) continue;
        ASSERT_EQ(emulator::counters().launches.size(), 1u) << row.problem;
        EXPECT_EQ(emulator::counters().launches[0].kernel,
                  misalign != 0 ? "fp_pointwise" : row.kernel)
            << row.problem;
      }
}

TEST(DeviceKernels, EveryTile) {
  const Handle handle = emulated_handle();
  const ProblemSpec problem = driver::parse_problem(
      "f32:2x20x9x9:nhwc;conv(f32:140x20x3x3:nhwc,pad=1x1);add(f32:2x140x9x9:nhwc);"
      "activation(leakyrelu)");
  for (const char* tile : {"128x128", "64x64", "128x32", "256x8"}) {
    SCOPED_TRACE(tile);
    driver::check(
        fuseplanSetOptions(handle.get(), (std::string("--pin=gpu_conv:") + tile).c_str()));
    expect_right_on_device(handle, problem);
  }
}

// One of each kind: warps of 64 x 64 and 64 x 32, with the depth shared by two and by four.
TEST(DeviceKernels, EveryKindOfTensorTile) {
  const Handle handle = emulated_handle();
  const ProblemSpec problem = driver::parse_problem(
      "f16:2x40x9x9:nhwc;conv(f16:144x40x3x3:nhwc,pad=1x1);add(f16:2x144x9x9:nhwc);"
      "activation(leakyrelu)");
  for (const char* tile : {"128x128w2x2x1c4s4", "128x128w2x4x1c4s3", "64x64w2x2x2c8s3",
                           "32x64w1x2x4c8s3", "128x32w4x1x1c4s4"}) {
    SCOPED_TRACE(tile);
    driver::check(
        fuseplanSetOptions(handle.get(), (std::string("--pin=gpu_tensor:") + tile).c_str()));
    expect_right_on_device(handle, problem);
  }
}

// Every activation in one plan each, pointwise, over values that reach all branches.
TEST(DeviceKernels, EveryActivation) {
  const Handle handle = emulated_handle();
  for (const driver::NamedActivation& activation : driver::all_activations())
    expect_right_on_device(handle,
                           driver::parse_problem("f32:1x8x4x33:nchw;scale_shift(f32:1x8x1x1);"
                                                 "activation(" +
                                                 std::string(activation.name) + ")"));
}

// Orders of threads that differ, in the kernel with shared memory.
TEST(DeviceKernels, AnyOrderOfThreads) {
  const Handle handle = emulated_handle();
  const ProblemSpec problem =
      driver::parse_problem("f32:1x9x7x7:nchw;conv(f32:10x9x3x3,pad=1x1);activation(tanh)");
  for (std::uint64_t stream = 1; stream <= 5; ++stream)
    expect_right_on_device(handle, problem, nullptr, {.stream = stream});
}

// Batch, height and width are arguments: one compilation serves all sizes.
TEST(DeviceKernels, OneBinaryForAllSizes) {
  const Handle handle = emulated_handle();
  emulator::reset();
  for (const char* size : {"2x16x8x8", "1x16x5x9", "3x16x8x7"}) {
    const std::string tensor = "f32:" + std::string(size) + ":nhwc;";
    expect_right_on_device(
        handle,
        driver::parse_problem(tensor + "conv(f32:16x16x3x3:nhwc,pad=1x1);activation(relu)"));
    expect_right_on_device(handle, driver::parse_problem(tensor + "norm(spatial,f32:1x16x1x1)"));
  }
  EXPECT_EQ(emulator::counters().compiled.size(), 2u);
}

class DeviceOddities : public testing::TestWithParam<ConvProblem> {};

std::string problem_text(const ConvProblem& r) {
  return fmt::format(
      "f32:{}x{}x{}x{};conv(f32:{}x{}x{}x{},pad={}x{},stride={}x{},dilation={}x{},groups={});"
      "bias(f32:1x{}x1x1);norm(spatial,f32:1x{}x1x1);activation(relu)",
      r.n, r.c, r.h, r.w, r.k, r.c / r.groups, r.r, r.s, r.pad_h, r.pad_w, r.stride_h, r.stride_w,
      r.dil_h, r.dil_w, r.groups, r.k, r.k);
}

TEST_P(DeviceOddities, InOneTypeAndLayoutEach) {
  const Handle handle = emulated_handle();
  const auto mix = static_cast<std::size_t>(GetParam().k + GetParam().h);
  const ProblemSpec problem = driver::parse_problem(problem_text(GetParam()));
  expect_right_on_device(handle, converted(problem, kTypes[mix % 3], mix % 2 == 0));
}

INSTANTIATE_TEST_SUITE_P(List, DeviceOddities,
                         testing::ValuesIn(read_conv_problems("oddities.csv")),
                         [](const testing::TestParamInfo<ConvProblem>& info) {
                           return "row" + std::to_string(info.index) + "_" + info.param.name;
                         });

}  // namespace
}  // namespace fuseplan::test
