// SPDX-License-Identifier: MIT
// Promises about executions rather than shapes: bits that do not depend on threads, other sizes of
// a dynamic plan, sizes without end.
#include <cstring>
#include <memory>

#include "matrix.hpp"

namespace fuseplan::test {
namespace {

// One of each kind of kernel and layout, large enough that work is divided.
const std::vector<std::string> kDivided = {
    "f32:3x32x30x30:nchw;conv(f32:48x32x3x3,pad=1x1);bias(f32:1x48x1x1);activation(gelu_erf)",
    "f32:2x64x28x28:nhwc;conv(f32:80x64x1x1);norm(spatial,f32:1x80x1x1);activation(relu)",
    "f16:1x40x33x31:nhwc;conv(f16:64x40x3x3,pad=1x1,stride=2x2);activation(silu)",
    "f32:2x96x28x28:nchw;conv(f32:96x1x3x3,pad=1x1,groups=96);activation(clippedrelu)",
    "f32:2x96x28x28:nhwc;conv(f32:96x1x5x5,pad=2x2,groups=96);bias(f32:1x96x1x1)",
    "f32:4x64x40x40:nchw;norm(spatial,f32:1x64x1x1);activation(tanh)",
    "bf16:4x64x40x40:nhwc;norm(spatial,f32:1x64x1x1);activation(mish)",
    "u8:2x48x20x21:nhwc;conv(i8:40x48x3x3,pad=1x1);scale_shift(f32:1x40x1x1);activation(relu)->u8:"
    "2x40x20x21:nhwc",
    "i8:3x20x17x15:nchw;conv(i8:52x20x1x1);scale_shift(f32:1x52x1x1)",
};

std::vector<double> result_with(const std::string& text, const std::string& level, int threads) {
  const Handle handle = handle_at(level);
  driver::check(fuseplanSetThreadCount(handle.get(), threads));
  Case c(driver::parse_problem(text));
  c.compile(handle.get());
  c.execute(handle.get());
  EXPECT_TRUE(c.compare().ok()) << text << " with " << threads << " threads";
  return c.output().values();
}

TEST(Execution, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const std::string& level : kLevels)
    for (const std::string& text : kDivided) {
      const std::vector<double> one = result_with(text, level, 1);
      for (int threads : {2, 3, 7}) {
        const std::vector<double> many = result_with(text, level, threads);
        ASSERT_EQ(one.size(), many.size());
        EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(double)), 0)
            << text << " at " << level << " with " << threads << " threads";
      }
    }
}

TEST(Execution, GivesTheSameBitsEveryTime) {
  const Handle handle = handle_at("amx");
  for (const std::string& text : kDivided) {
    Case c(driver::parse_problem(text));
    c.compile(handle.get());
    c.execute(handle.get());
    const std::vector<double> first = c.output().values();
    for (int i = 0; i < 5; ++i) {
      c.output().fill(0);
      c.execute(handle.get());
      const std::vector<double> again = c.output().values();
      EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(double)), 0) << text;
    }
  }
}

TEST(Execution, WritesInterleavedStrides) {
  for (const std::string& level : kLevels)
    expect_right(
        driver::parse_problem("f32:2x3x1x1:nchw;activation(gelu_tanh)->f32:2x3x1x1:s3,2,1,1"),
        level);
}

struct Size {
  std::int64_t n, h, w;
};

// A dynamic plan against plans made for each size: same data, same bits.
void expect_dynamic_right(const std::string& level, const std::string& layout,
                          const std::string& filter, const Size& made) {
  const Handle handle = handle_at(level);
  const auto text = [&](std::int64_t n, std::int64_t h, std::int64_t w) {
    const std::string pixels = std::to_string(h) + "x" + std::to_string(w) + ":" + layout;
    return "f32:" + std::to_string(n) + "x20x" + pixels + ";conv(f32:24x20x" + filter +
           ");norm(spatial,f32:1x24x1x1);add(f32:" + std::to_string(n) + "x24x" + pixels +
           ");activation(relu)";
  };
  Case dynamic(driver::parse_problem(text(made.n, made.h, made.w)));
  driver::check(fuseplanPlanSetDynamicDims(
      dynamic.plan(), fuseplanDimBatch | fuseplanDimHeight | fuseplanDimWidth));
  dynamic.compile(handle.get());
  Random random(77);
  // More sizes than the plan keeps in its fast slots.
  for (int i = 0; i < 40; ++i) {
    Case fixed(driver::parse_problem(
        text(random.between(1, 3), random.between(1, 17), random.between(1, 19))));
    // The fixed case's own args hold its parameters by op index, so both plans can use them.
    driver::check(fuseplanExecutePlan(handle.get(), dynamic.plan(), fixed.input_desc(),
                                      fixed.input().data(), fixed.output_desc(),
                                      fixed.output().data(), fixed.args()));
    const Comparison comparison = fixed.compare();
    EXPECT_TRUE(comparison.ok()) << driver::to_text(fixed.problem()) << comparison.describe();
  }
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  driver::check(fuseplanPlanGetInfo(handle.get(), dynamic.plan(), &info));
  EXPECT_GT(info.variantCount, 32);
}

// The second filter's images of one column run as those of one row.
TEST(Execution, TakesOtherSizesOfADynamicPlan) {
  for (const std::string& level : kLevels)
    for (const char* layout : {"nchw", "nhwc"})
      for (const char* filter : {"3x3,pad=1x1", "3x1,pad=1x0"})
        for (const Size& made : {Size{2, 8, 8}, {1, 8, 1}, {1, 1, 1}})
          expect_dynamic_right(level, layout, filter, made);
}

// Plans that read one pointer's bytes in different ways - by shape, type, layout, groups - by each
// kind of kernel.
const std::vector<std::vector<std::string>> kOfOnePointer = {
    {"f32:1x32x6x6:nchw;conv(f32:16x32x1x1)", "f32:1x16x6x6:nchw;conv(f32:32x16x1x1)",
     "f32:1x4x6x6:nchw;conv(f32:16x4x4x2:nchw)", "f32:1x4x6x6:nchw;conv(f32:16x4x4x2:nhwc)",
     "f32:1x4x6x6:nchw;conv(f32:16x4x2x4:nhwc)", "f32:1x64x6x6:nchw;conv(f32:16x32x1x1,groups=2)"},
    {"f32:1x64x28x28:nchw;conv(f32:96x64x3x3,pad=1x1)",
     "f32:1x96x28x28:nchw;conv(f32:64x96x3x3,pad=1x1)",
     "f32:1x64x28x28:nchw;conv(f32:96x64x3x3:nhwc,pad=1x1)"},
    {"f16:1x64x28x28:nchw;conv(f16:96x64x3x3,pad=1x1)",
     "f32:1x32x28x28:nchw;conv(f32:96x32x3x3,pad=1x1)",
     "f16:1x96x28x28:nchw;conv(f16:64x96x3x3,pad=1x1)"},
    {"f16:1x64x9x9:nhwc;conv(f16:96x64x3x3,stride=2x2)",
     "bf16:1x64x9x9:nhwc;conv(bf16:96x64x3x3,stride=2x2)",
     "f16:1x128x9x9:nhwc;conv(f16:96x64x3x3,stride=2x2,groups=2)",
     "f16:1x64x9x9:nhwc;conv(f16:96x64x3x3:nhwc,stride=2x2)"},
    {"f32:1x64x9x9:nhwc;conv(f32:96x64x1x1)", "f32:1x96x9x9:nhwc;conv(f32:64x96x1x1)",
     "f32:1x64x9x9:nhwc;conv(f32:96x64x1x1:nhwc)"},
    {"f32:1x32x9x9:nhwc;conv(f32:48x4x3x3,pad=1x1,groups=8)",
     "f32:1x16x9x9:nhwc;conv(f32:48x4x3x3,pad=1x1,groups=4)",
     "f32:1x64x9x9:nhwc;conv(f32:96x2x3x3,pad=1x1,groups=32)"},
    {"u8:1x64x9x9:nhwc;conv(i8:96x64x3x3,pad=1x1);scale_shift(f32:1x96x1x1)",
     "i8:1x64x9x9:nhwc;conv(i8:96x64x3x3,pad=1x1);scale_shift(f32:1x96x1x1)",
     "i8:1x128x9x9:nhwc;conv(i8:96x64x3x3,pad=1x1,groups=2);scale_shift(f32:1x96x1x1)"},
};

void share_parameters(Case& from, Case& to) {
  for (std::size_t i = 0; i < to.parameter_count(); ++i) {
    ASSERT_EQ(to.parameter(i).bytes(), from.parameter(i).bytes());
    std::memcpy(to.parameter(i).data(), from.parameter(i).data(), to.parameter(i).bytes());
  }
}

// Large outputs, whose kernels may store past the caches; the larger ones on any host. Off a cache
// line they must not. The last thread's stores are seen by who waits for them all.
TEST(Execution, StoresLargeOutputsWholly) {
  const std::vector<std::string> large = {
      "f32:1x16x226x226:nhwc;conv(f32:16x16x1x1);bias(f32:1x16x1x1);activation(relu)",
      "f32:1x8x560x576:nhwc;conv(f32:16x8x1x1);norm(spatial,f32:1x16x1x1)",
      "f32:2x8x130x104:nhwc;conv(f32:48x8x1x1);add(f32:2x48x130x104:nhwc);activation(relu)",
      "f32:1x8x224x232:nchw;conv(f32:20x8x1x1);activation(leakyrelu)",
      "f32:2x6x400x416:nchw;conv(f32:17x6x1x1);norm(spatial,f32:1x17x1x1);activation(relu)",
      "f32:1x16x452x452:nhwc;conv(f32:32x16x1x1,stride=2x2);activation(relu)",
      "f32:1x64x130x104:nhwc;conv(f32:64x1x3x3,pad=1x1,groups=64);bias(f32:1x64x1x1);activation("
      "relu)",
      "f32:2x32x288x300:nhwc;conv(f32:32x1x3x3,pad=1x1,groups=32);activation(leakyrelu)",
      "f32:2x64x128x104:nhwc;conv(f32:64x4x3x3,pad=1x1,groups=16);norm(spatial,f32:1x64x1x1)",
      "f32:1x96x228x232:nhwc;conv(f32:96x2x3x3,pad=1x1,stride=2x2,groups=48);activation(relu)",
      "f32:1x3x130x208:nhwc;conv(f32:32x3x3x3,pad=1x1);bias(f32:1x32x1x1);activation(relu)",
      "f32:2x4x288x300:nhwc;conv(f32:48x2x3x5,pad=1x2,groups=2);add(f32:2x48x288x300:nhwc)",
      "f32:3x3x226x226:nhwc;conv(f32:64x3x3x3,pad=1x1);norm(spatial,f32:1x64x1x1);activation(relu)",
      "bf16:1x32x228x232:nhwc;conv(bf16:32x32x1x1);bias(f32:1x32x1x1);activation(relu)",
      "bf16:2x8x400x416:nhwc;conv(bf16:32x8x1x1);norm(spatial,f32:1x32x1x1)",
      "bf16:1x64x112x116:nhwc;conv(bf16:128x32x3x3,pad=1x1,groups=2);activation(relu)",
      "bf16:1x64x160x160:nhwc;conv(bf16:96x32x1x1,groups=2);activation(relu)",
      "bf16:2x64x100x104:nhwc;conv(bf16:48x32x1x1,groups=2);activation(relu)->f32:2x48x100x104:"
      "nhwc",
      "u8:1x64x160x160:nhwc;conv(i8:48x32x1x1,groups=2);scale_shift(f32:1x48x1x1)",
      "u8:1x64x112x116:nhwc;conv(i8:80x32x3x3,pad=1x1,groups=2);scale_shift(f32:1x80x1x1)",
      "u8:1x12x120x128:nhwc;conv(i8:64x12x1x1);scale_shift(f32:1x64x1x1);activation(relu)",
  };
  std::uint64_t stream = 300;
  for (const std::string& text : large)
    for (int misalign : {0, 3})
      expect_right(driver::parse_problem(text), "amx", {.stream = ++stream, .misalign = misalign});
}

// The same bytes mean other weights to another plan, and one args object may serve both.
TEST(Execution, KeepsWeightsOfDifferentTensorsApart) {
  for (const std::string& level : kLevels)
    for (const auto& texts : kOfOnePointer) {
      const Handle handle = handle_at(level);
      std::vector<std::unique_ptr<Case>> cases;
      for (const std::string& text : texts) {
        cases.push_back(std::make_unique<Case>(driver::parse_problem(text)));
        share_parameters(*cases.front(), *cases.back());
        cases.back()->compile(handle.get());
      }
      Case& owner = *cases.front();
      owner.set_constant_weights();
      for (int round = 0; round < 2; ++round)
        for (const auto& c : cases) {
          c->output().fill(0);
          driver::check(fuseplanExecutePlan(handle.get(), c->plan(), c->input_desc(),
                                            c->input().data(), c->output_desc(), c->output().data(),
                                            owner.args()));
          EXPECT_TRUE(c->compare().ok()) << driver::to_text(c->problem()) << " at " << level;
        }
    }
}

TEST(Execution, RefusesOtherSizesOfAFixedPlan) {
  const Handle handle = handle_at("amx");
  Case fixed(driver::parse_problem("f32:2x8x6x6:nchw;activation(relu)"));
  fixed.compile(handle.get());
  Case other(driver::parse_problem("f32:3x8x6x6:nchw;activation(relu)"));
  EXPECT_EQ(
      fuseplanExecutePlan(handle.get(), fixed.plan(), other.input_desc(), other.input().data(),
                          other.output_desc(), other.output().data(), other.args()),
      fuseplanStatusBadParm);
}

}  // namespace
}  // namespace fuseplan::test
