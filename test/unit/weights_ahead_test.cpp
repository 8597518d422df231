// SPDX-License-Identifier: MIT
// Which weights tile kernels ask for before others read them: launches of direct and Winograd
// convolutions run with kernels that write down their calls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "emit_kernel.hpp"
#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/direct/ahead.hpp"
#include "kernels/cpu/direct/recipe.hpp"
#include "kernels/cpu/direct/schedule.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::kCacheLine;
using cpu::TileCall;
using cpu::TileSpec;

struct Recorded {
  std::size_t kernel;
  TileCall call;
};
std::vector<Recorded>& recorded() {
  static std::vector<Recorded> calls;
  return calls;
}

template <std::size_t kernel>
void record(const TileCall* call) {
  recorded().push_back({kernel, *call});
}
void nothing(const void* /*call*/) {}

template <std::size_t... kernels>
std::vector<const void*> recorders(std::index_sequence<kernels...>) {
  return {reinterpret_cast<const void*>(&record<kernels>)...};
}

/// The calls of the recipe's first kernels, which are `specs`, over data whose values do not
/// matter.
void run(const cpu::Recipe& recipe, std::size_t specs) {
  recorded().clear();
  std::vector<const void*> entries = recorders(std::make_index_sequence<12>());
  ASSERT_LE(specs, entries.size());
  entries.resize(specs);
  entries.resize(recipe.emit().size(), reinterpret_cast<const void*>(&nothing));
  const auto program = recipe.bind(entries);
  constexpr std::size_t kEnough = std::size_t{1} << 20;
  const Buffer input(kEnough), weights(program->prepared_bytes());
  Buffer output(kEnough);
  program->run({input.data(), output.data(), weights.data(), {}, {}, {}, {}, Parallel(1)});
}

/// What calls find in the caches, and what they have to wait for, in lines of weights.
struct Tally {
  std::size_t read = 0, waited = 0, asked = 0;
};

Tally tally(const std::vector<TileSpec>& specs) {
  std::set<std::int64_t> near, read;
  Tally tally;
  for (const auto& [kernel, call] : recorded()) {
    const TileSpec& spec = specs[kernel];
    const std::int64_t bytes = call.planes * call.rows * call.channels * spec.taps * spec.vectors *
                               cpu::lanes_of(spec.isa) * std::int64_t{sizeof(float)};
    const auto first = reinterpret_cast<std::int64_t>(call.weights);
    for (std::int64_t at = first; at < first + bytes; at += kCacheLine) {
      read.insert(at / kCacheLine);
      tally.waited += near.insert(at / kCacheLine).second;
    }
    if (call.ahead_step == 0) continue;
    EXPECT_EQ(call.ahead_step, kCacheLine);
    for (std::int64_t at = 0; at < cpu::bytes_asked(spec, call); at += kCacheLine) {
      near.insert((call.ahead + at) / kCacheLine);
      ++tally.asked;
    }
  }
  tally.read = read.size();
  return tally;
}

/// All but the first are there in time, but for what rows at the image's edge leave, and hardly any
/// is asked for that is not read or twice. `first_bytes`: of the weights that the first calls read;
/// `passes`: through all weights.
void expect_asked(const Tally& tally, std::int64_t first_bytes, std::int64_t passes = 1) {
  const auto first = static_cast<std::size_t>(first_bytes / kCacheLine);
  EXPECT_GT(tally.read, std::size_t{cpu::kFarWeightBytes / kCacheLine} * 9 / 10);
  EXPECT_LE(tally.waited, first + tally.read / 10);
  EXPECT_GE(tally.waited, first);
  EXPECT_GE(tally.asked, tally.read * static_cast<std::size_t>(passes) * 7 / 10);
  EXPECT_LE(tally.asked, tally.read * static_cast<std::size_t>(passes) * 12 / 10);
}

class WeightsAhead : public ::testing::TestWithParam<cpu::Isa> {
 protected:
  SplitChain chain_of(const Problem& problem) const { return optimize(lower(problem), {}); }
};
INSTANTIATE_TEST_SUITE_P(All, WeightsAhead, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return std::string(cpu::name_of(info.param)); });

// By chunk while a block's tiles of channels take turns, by tile while blocks do; staged or not.
TEST_P(WeightsAhead, OfDirectConvolutions) {
  const struct {
    const char* problem;
    std::int64_t block, chunk;
  } cases[] = {
      {"f32:1x384x7x9:nhwc;conv(f32:384x384x3x3,pad=1x1)", 128, 64},
      {"f32:1x384x7x9:nhwc;conv(f32:384x384x3x3,pad=1x1)", 128, 384},
      {"f32:1x384x14x18:nhwc;conv(f32:384x384x3x3,pad=1x1,stride=2x2)", 27, 128},
      {"f32:1x384x7x9;conv(f32:384x384x3x3,pad=1x1)", 128, 128},
  };
  for (const auto& [text, block, chunk] : cases)
    for (const bool staged : {false, true}) {
      SCOPED_TRACE(fmt::format("{} block {} chunk {} staged {}", text, block, chunk, staged));
      const Problem problem = parse_problem(text);
      const SplitChain chain = chain_of(problem);
      const cpu::Target target(GetParam());
      cpu::DirectConfig config = direct_configs(problem, target).front();
      config.block = block;
      config.chunk = chunk;
      config.staged = staged;
      const cpu::DirectPlan plan =
          cpu::direct_plan(cpu::direct_shape(problem, chain), chain, target, config);
      ASSERT_EQ(plan.asks_for, cpu::Asked::weights);
      const auto recipe = direct_recipe(problem, chain, target, config);
      run(*recipe, plan.specs().size());
      const std::int64_t of_step = 9 * plan.tile_lanes * std::int64_t{sizeof(float)};
      const std::int64_t blocks = ceil_div(problem.output().lens[2], plan.block_rows);
      const bool by_tile = cpu::Schedule(plan, 1).repeats_tiles();
      expect_asked(tally(plan.specs()), (by_tile ? plan.depth : plan.chunk) * of_step,
                   by_tile ? 1 : blocks);
    }
}

// A single part of the weights, less of them, groups, taps in a loop; and a filter of which a row
// stands inside the image only.
TEST_P(WeightsAhead, NotWhereNothingFollows) {
  for (const char* text : {"f32:1x4096x7x9:nhwc;conv(f32:16x4096x5x5,pad=2x2)",
                           "f32:1x256x7x9:nhwc;conv(f32:256x256x3x3,pad=1x1)",
                           "f32:1x1024x7x9:nhwc;conv(f32:512x512x3x3,pad=1x1,groups=2)",
                           "f32:1x64x9x400:nhwc;conv(f32:128x64x1x301,pad=0x150)",
                           "f32:1x512x7x9:nhwc;conv(f32:512x512x3x3,pad=9x9,dilation=9x9)"}) {
    SCOPED_TRACE(text);
    const Problem problem = parse_problem(text);
    const SplitChain chain = chain_of(problem);
    const cpu::Target target(GetParam());
    cpu::DirectConfig config = direct_configs(problem, target).front();
    config.block = 63;
    config.chunk = 4096;
    const auto plan = cpu::direct_plan(cpu::direct_shape(problem, chain), chain, target, config);
    EXPECT_EQ(plan.asks_for, cpu::Asked::nothing);
    for (const TileSpec& spec : plan.specs()) EXPECT_EQ(spec.asks_ahead, 0);
  }
}

TEST_P(WeightsAhead, OfWinogradPositions) {
  for (const char* text : {"f32:1x256x28x27:nhwc;conv(f32:192x256x3x3,pad=1x1)",
                           "f32:2x200x19x30;conv(f32:200x200x3x3,pad=1x1)"}) {
    SCOPED_TRACE(text);
    const Problem problem = parse_problem(text);
    const SplitChain chain = chain_of(problem);
    const int pixels = GetParam() == cpu::Isa::avx512 ? 14 : 6;
    const cpu::WinogradConfig config{4, 4, pixels, 2, 1000};
    const auto plan = cpu::winograd_plan(cpu::direct_shape(problem, chain), GetParam(), config);
    ASSERT_TRUE(plan.asks_ahead);
    const auto recipe = cpu::winograd_recipe(problem, chain, GetParam(), config);
    run(*recipe, plan.specs().size());
    const std::int64_t first = plan.inputs() * plan.width() * std::int64_t{sizeof(float)};
    expect_asked(tally(plan.specs()), first);
  }
}

// As many as TileSpec::asks_ahead says, and not at all otherwise.
TEST_P(WeightsAhead, IsInTheCode) {
  for (const auto& [asks, vectors] :
       {std::pair{0, 1}, {1, 1}, {2, 1}, {5, 1}, {7, 1}, {19, 1}, {3, 2}, {9, 2}}) {
    TileSpec spec;
    spec.isa = GetParam();
    spec.pixels = 6;
    spec.vectors = vectors;
    spec.taps = 1;
    spec.last = 6;
    spec.all_channels = true;
    spec.channels = 64;
    spec.asks_ahead = asks;
    const std::vector<std::byte> code = cpu::emit_tile(spec);
    const std::byte prefetcht1_rbx[] = {std::byte{0x0f}, std::byte{0x18}, std::byte{0x13}};
    int found = 0;
    for (auto at = code.begin();; ++at, ++found) {
      at = std::search(at, code.end(), std::begin(prefetcht1_rbx), std::end(prefetcht1_rbx));
      if (at == code.end()) break;
    }
    EXPECT_EQ(found, asks);
    TileCall call;
    call.planes = 1, call.rows = 3, call.channels = 64;
    EXPECT_EQ(cpu::bytes_asked(spec, call),
              3 * 64 / cpu::channels_of_turn(spec) * asks * kCacheLine);
  }
}

TEST_P(WeightsAhead, ChangesNoResult) {
  Random random{29};
  const FlushDenormals flush;
  // Channels that fill vectors, and such that do not.
  const ConvCase shapes[] = {
      {{1, 320, 6, 7}, {390, 320, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 300, 8, 9}, {416, 300, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : shapes)
    for (const Strides strides : {Strides::channels_last, Strides::channels_first})
      for (const Tail tail : {Tail::none, Tail::everything}) {
        const Problem problem =
            conv_problem(shape, {DType::f32, DType::f32, strides}, tail, random);
        const KernelCase test(problem, random);
        const cpu::Target target(GetParam());
        cpu::DirectConfig config = direct_configs(problem, target).front();
        for (const std::int64_t block : {21, 42})
          for (const std::int64_t chunk : {std::int64_t{70}, config.chunk}) {
            config.block = block;
            config.chunk = chunk;
            const auto plan = cpu::direct_plan(cpu::direct_shape(problem, test.chain()),
                                               test.chain(), target, config);
            EXPECT_EQ(plan.asks_for, cpu::Asked::weights) << to_text(config);
            const auto recipe = direct_recipe(problem, test.chain(), target, config);
            for (const int threads : {1, 2})
              EXPECT_TRUE(test.check(test.run(*recipe, threads))) << to_text(config);
          }
        cpu::WinogradConfig tiles = cpu::winograd_configs(problem, GetParam()).front();
        tiles.pixels = 3;
        tiles.tiles = 6;
        EXPECT_TRUE(cpu::winograd_plan(cpu::direct_shape(problem, test.chain()), GetParam(), tiles)
                        .asks_ahead);
        const auto recipe = cpu::winograd_recipe(problem, test.chain(), GetParam(), tiles);
        for (const int threads : {1, 2})
          EXPECT_TRUE(test.check(test.run(*recipe, threads))) << to_text(tiles);
      }
}

}  // namespace
}  // namespace fuseplan::test
