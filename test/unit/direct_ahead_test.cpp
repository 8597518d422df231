// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/ahead.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emit_kernel.hpp"
#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/direct/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::Asked;
using cpu::Block;
using cpu::DirectPlan;

constexpr std::int64_t kLine = 64;

DirectPlan plan_of(const Problem& problem, const SplitChain& chain, const cpu::Target& target,
                   const cpu::DirectConfig& config) {
  return cpu::direct_plan(cpu::direct_shape(problem, chain), chain, target, config);
}

DirectPlan plan_of(const std::string& text, std::int64_t block = 0) {
  const Problem problem = parse_problem(text);
  const cpu::Target target(cpu::Isa::avx512);
  cpu::DirectConfig config = direct_configs(problem, target).front();
  config.staged = false;
  if (block > 0) config.block = block;
  return plan_of(problem, optimize(lower(problem), {}), target, config);
}

TEST(DirectAhead, IsForLargeInputWhosePixelsFollowOneAnother) {
  EXPECT_EQ(plan_of("f32:1x64x120x121:nhwc;conv(f32:40x64x3x3,pad=1x1,stride=2x2)").asks_for,
            Asked::input);
  EXPECT_EQ(plan_of("f32:1x64x60x121:nhwc;conv(f32:40x64x3x3,pad=1x1,stride=2x2)").asks_for,
            Asked::nothing);
  EXPECT_EQ(plan_of("f32:1x64x120x121:nchw;conv(f32:40x64x3x3,pad=1x1,stride=2x2)").asks_for,
            Asked::nothing);
  EXPECT_EQ(plan_of("f32:1x64x120x121:nhwc;conv(f32:40x32x3x3,pad=1x1,groups=2)").asks_for,
            Asked::nothing);
  EXPECT_EQ(plan_of("f32:1x64x120x121:s940000,1,7800,64;conv(f32:40x64x3x3,pad=1x1)").asks_for,
            Asked::nothing);
  EXPECT_EQ(plan_of("f16:1x64x180x181:nhwc;conv(f16:40x64x3x3,pad=1x1)").asks_for, Asked::nothing);
  // A stride of 2 skips three pixels of four; what is written counts as well.
  EXPECT_EQ(plan_of("f32:1x64x120x121:nhwc;conv(f32:40x64x1x1,stride=2x2)").asks_for,
            Asked::nothing);
  EXPECT_EQ(plan_of("f32:1x64x120x121:nhwc;conv(f32:40x64x3x3,pad=1x1)").asks_for, Asked::nothing);
  // Its rows are one, and so may be its blocks.
  EXPECT_EQ(plan_of("f32:2x64x120x121:nhwc;conv(f32:30x64x1x1)", 500).asks_for, Asked::input);
  EXPECT_EQ(plan_of("f32:2x64x120x121:nhwc;conv(f32:30x64x1x1)", 40000).asks_for, Asked::nothing);
}

/// Bytes of one input row, or of one pixel, that outputs [first, first + count) along `axis` read.
std::set<std::int64_t> read_along(const cpu::ConvGeometry& conv, std::size_t axis,
                                  std::int64_t first, std::int64_t count) {
  std::set<std::int64_t> indices;
  for (std::int64_t output = first; output < first + count; ++output)
    for (std::int64_t tap = 0; tap < conv.filter[axis]; ++tap) {
      const std::int64_t at =
          output * conv.stride[axis] + tap * conv.dilation[axis] - conv.pad_lo[axis];
      if (at >= 0 && at < conv.input.len[axis + 2]) indices.insert(at);
    }
  return indices;
}

/// Lines asked for in all calls of all units of a block.
std::set<std::int64_t> asked(const DirectPlan& plan, const Block& block, const void* input) {
  std::set<std::int64_t> lines;
  const cpu::ConvGeometry& conv = plan.shape.conv;
  const cpu::InputMap map = cpu::InputMap::of_tensor(plan, input, block);
  std::size_t tiles = 0;
  for (std::size_t strip = block.strip; strip < block.strip + block.strips; ++strip)
    tiles += plan.tiling.strips[strip].last - plan.tiling.strips[strip].first;
  const cpu::TileSpec& spec = plan.tiling.variants.front();
  const std::int64_t channels = cpu::channels_of_turn(spec);
  const std::int64_t asks = (plan.chunk + channels - 1) / channels * spec.asks_ahead;
  for (std::int64_t unit = 0; unit < plan.tiles_of_channels; ++unit) {
    cpu::Ahead ahead(plan, map, block, unit, plan.tiles_of_channels);
    for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk)
      for (std::int64_t row = 0; row < block.rows; ++row) {
        ahead.start(row, chunk);
        for (std::size_t call = 0; call < tiles; ++call) {
          cpu::TileCall tile;
          ahead.share(tile);
          if (tile.ahead_step == 0) continue;  // it has no part
          for (std::int64_t ask = 0; ask < asks * conv.filter[0] * conv.filter[1]; ++ask)
            lines.insert((tile.ahead + ask * tile.ahead_step) / kLine);
        }
      }
  }
  return lines;
}

struct Case {
  const char* problem;
  std::int64_t block;  ///< pixels
  Block now, next;
};

TEST(DirectAhead, IsWhatTheNextBlockReadsBesides) {
  const Case cases[] = {
      {"f32:1x64x120x121:nhwc;conv(f32:40x64x3x3,pad=1x1,stride=2x2)",
       4 * 61,
       {.row = 8, .rows = 4, .columns = 61},
       {.row = 12, .rows = 4, .columns = 61}},
      {"f32:1x64x120x121:nhwc;conv(f32:30x64x5x3,pad=2x1,dilation=2x1)",
       3 * 121,
       {.row = 30, .rows = 3, .columns = 121},
       {.row = 33, .rows = 3, .columns = 121}},
      {"f32:2x96x90x70:nhwc;conv(f32:45x96x1x1,stride=2x1)",
       5 * 70,
       {.row = 5, .rows = 5, .columns = 70},
       {.row = 10, .rows = 5, .columns = 70}},
      {"f32:1x96x3x4000:nhwc;conv(f32:40x96x3x5,pad=1x2)", 500, {.row = 1, .rows = 1}, {.row = 1}},
      {"f32:2x96x40x120:nhwc;conv(f32:40x96x1x1)", 500, {.rows = 1}, {}},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.problem);
    const DirectPlan plan = plan_of(row.problem, row.block);
    ASSERT_EQ(plan.asks_for, Asked::input);
    const cpu::ConvGeometry& conv = plan.shape.conv;
    const bool by_row = plan.block_strips == plan.tiling.strips.size();
    ASSERT_EQ(by_row, row.next.row > row.now.row);
    Block now = row.now, next = row.next;
    const auto cut = [&](Block& block, std::size_t first) {
      block.strip = first;
      block.strips = plan.block_strips;
      block.column = plan.tiling.strips[first].column;
      const cpu::Strip& last = plan.tiling.strips[first + plan.block_strips - 1];
      block.columns = last.column + last.width - block.column;
    };
    cut(now, 0);
    cut(next, by_row ? 0 : plan.block_strips);
    const std::size_t axis = by_row ? 1 : 2;
    std::set<std::int64_t> wanted = by_row ? read_along(conv, axis, next.row, next.rows)
                                           : read_along(conv, axis, next.column, next.columns);
    for (const std::int64_t known : by_row ? read_along(conv, axis, now.row, now.rows)
                                           : read_along(conv, axis, now.column, now.columns))
      wanted.erase(known);
    ASSERT_FALSE(wanted.empty());
    const std::vector<float> input(static_cast<std::size_t>(conv.input.elements()));
    const std::set<std::int64_t> lines = asked(plan, now, input.data());
    const std::int64_t bytes =
        conv.input.stride[axis + 2] * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t row_start =
        by_row ? 0
               : (now.row + 1) * conv.input.stride[3] * static_cast<std::int64_t>(sizeof(float));
    std::int64_t all = 0, found = 0;
    for (const std::int64_t index : wanted) {
      const std::int64_t first =
          reinterpret_cast<std::int64_t>(input.data()) + row_start + index * bytes;
      for (std::int64_t line = first / kLine; line * kLine < first + bytes; ++line) {
        ++all;
        found += lines.count(line) > 0;
      }
    }
    // Padding on the left shifts the range by a pixel or two.
    EXPECT_GE(found, all * 97 / 100) << all;
    // A call that asks may ask for a little more.
    EXPECT_LE(static_cast<std::int64_t>(lines.size()), all * 12 / 10 + 8);
  }
}

/// Whether a call of `function` leaves rbx and r12 to r15 as they were.
bool keeps_registers(const void* function, const void* argument) {
  std::uint64_t changed = 0;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n"  // the red zone
      "mov $1, %%rbx\n mov $2, %%r12\n mov $3, %%r13\n mov $4, %%r14\n mov $5, %%r15\n"
      "call *%[function]\n"
      "xor $1, %%rbx\n xor $2, %%r12\n xor $3, %%r13\n xor $4, %%r14\n xor $5, %%r15\n"
      "or %%r12, %%rbx\n or %%r13, %%rbx\n or %%r14, %%rbx\n or %%r15, %%rbx\n"
      "lea 128(%%rsp), %%rsp\n"
      "mov %%rbx, %[changed]\n"
      : [changed] "=a"(changed), "+D"(argument)
      : [function] "a"(function)
      : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "cc", "memory");
  return changed == 0;
}

TEST(DirectAhead, KeepsTheCallersRegisters) {
  constexpr std::int64_t kChannels = 5, kFloat = sizeof(float);
  const std::vector<float> input(2 * kChannels, 2.0f), weights(64 * kChannels, 3.0f);
  for (const cpu::Isa isa : vector_isas()) {
    std::vector<float> result(static_cast<std::size_t>(2 * cpu::lanes_of(isa)));
    cpu::TileSpec spec;
    spec.isa = isa;
    spec.pixels = 2;
    spec.vectors = 1;
    spec.taps = 1;
    spec.last = 2;
    spec.steps = {.pixel = kChannels * kFloat, .channel = kFloat};
    spec.asks_ahead = 1;
    const CodeMemory code(cpu::emit_tile(spec));
    const cpu::TileCall call{.input = input.data(),
                             .weights = weights.data(),
                             .result = result.data(),
                             .planes = 1,
                             .rows = 1,
                             .channels = kChannels,
                             .ahead = reinterpret_cast<std::int64_t>(input.data()),
                             .ahead_step = 24};
    EXPECT_TRUE(keeps_registers(code.data(), &call)) << name_of(isa);
    for (const float value : result) EXPECT_EQ(value, 2 * 3 * kChannels);
  }
}

struct ResultCase {
  ConvCase shape;
  std::int64_t block;  ///< pixels, or 0: the model's choice
};

TEST(DirectAhead, ChangesNoResult) {
  Random random{23};
  const ResultCase cases[] = {
      {{{1, 64, 170, 171}, {40, 64, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}}, 0},
      {{{1, 65, 170, 150}, {64, 65, 3, 1}, {{1, 0}, {0, 0}, {2, 3}, {1, 1}, 1}}, 0},
      {{{1, 70, 3, 8000}, {32, 70, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}}, 700},
      {{{1, 97, 3, 5600}, {16, 97, 1, 3}, {{0, 1}, {0, 1}, {1, 1}, {1, 1}, 1}}, 500},
  };
  const FlushDenormals flush;
  for (const auto& [shape, block] : cases)
    for (const DType type : {DType::f32, DType::bf16})
      for (const Tail tail : {Tail::bias_norm_relu, Tail::add_gelu}) {
        const Problem problem =
            conv_problem(shape, {type, type, Strides::channels_last}, tail, random);
        const KernelCase test(problem, random);
        SCOPED_TRACE(to_text(problem));
        for (const cpu::Target& target : vector_targets()) {
          cpu::DirectConfig config = direct_configs(problem, target).front();
          config.staged = false;
          if (block > 0) config.block = block;
          EXPECT_EQ(plan_of(problem, test.chain(), target, config).asks_for,
                    type == DType::f32 || config.pairs ? Asked::input : Asked::nothing);
          for (const std::int64_t chunk : {std::int64_t{30}, config.chunk}) {
            config.chunk = chunk;
            const auto recipe = direct_recipe(problem, test.chain(), target, config);
            EXPECT_TRUE(test.check(test.run(*recipe, 1))) << to_text(config);
            EXPECT_TRUE(test.check(test.run(*recipe, 2))) << to_text(config);
          }
        }
      }
}

}  // namespace
}  // namespace fuseplan::test
