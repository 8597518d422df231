// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "base/denormals.hpp"
#include "base/integer.hpp"
#include "guarded_run.hpp"
#include "isa_strides.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/stem/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything};
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

class StemConv : public ::testing::TestWithParam<IsaStrides> {
 protected:
  Problem problem(const ConvCase& shape, Tail tail, DType input = DType::f32,
                  DType output = DType::f32) {
    return conv_problem(shape, {input, output, GetParam().strides}, tail, random_);
  }
  static cpu::Isa isa() { return GetParam().isa; }

  /// Checks the kernels with the first `most` configurations.
  void run(const Problem& problem, std::size_t most = 1000) {
    const KernelCase test(problem, random_);
    const auto geometry = cpu::stem_geometry_refusal(problem);
    const auto layout = cpu::stem_layout_refusal(problem, test.chain());
    ASSERT_FALSE(geometry || layout)
        << to_text(problem) << geometry.value_or("") << layout.value_or("");
    const FlushDenormals flush;
    for (const cpu::StemConfig& config : cpu::stem_configs(problem, isa())) {
      EXPECT_TRUE(test.check(test.run(*cpu::stem_recipe(problem, test.chain(), isa(), config))))
          << to_text(config) << " " << to_text(problem);
      if (--most == 0) break;
    }
  }

  Random random_{53};
};
INSTANTIATE_TEST_SUITE_P(All, StemConv,
                         ::testing::ValuesIn(on_vector_isas(
                             {Strides::channels_first, Strides::channels_last, Strides::padded})),
                         name_of_param);

/// With so many input channels, or more until every output has the 16 products it needs.
ConvCase with_channels(std::int64_t channels, ConvCase shape) {
  const auto taps = [&](std::size_t axis) {
    const Conv& conv = shape.conv;
    const std::int64_t padding = std::max(conv.pad_lo[axis], conv.pad_hi[axis]);
    return std::min(shape.filter[2 + axis] - padding, shape.input[2 + axis]);
  };
  shape.input[1] = shape.filter[1] = std::max(channels, ceil_div(16, taps(0) * taps(1)));
  return shape;
}

// Every side whose phases have three or four taps, at strides up to 4 and with each padding.
TEST_P(StemConv, EveryFilterAndStride) {
  int number = 0;
  for (std::int64_t stride = 1; stride <= 4; ++stride)
    for (std::int64_t taps = 2 * stride + 1; taps <= 4 * stride; ++taps) {
      const std::int64_t other = 1 + number % 3, side = 2 * other + 1 + number % (2 * other);
      // Of one channel less than 16, some taps must be left to the border.
      const std::int64_t most = stride * other == 1 ? 1 : 15;
      const std::int64_t top = std::min(number % taps, most), left = std::min(side / 2, most);
      const std::int64_t right = std::min(side - 1, most);
      run(problem(with_channels(1 + number % 5,
                                {{1 + number % 2, 0, 20 + number, 37 - number},
                                 {17 + number, 0, taps, side},
                                 {{top, left}, {taps / 2, right}, {stride, other}, {1, 1}, 1}}),
                  kAllTails[number % 4], kTypes[number % 3], kTypes[number / 3 % 3]));
      run(problem(with_channels(2 + number % 4,
                                {{1, 0, 15 + number, 60 - number},
                                 {64 - number, 0, side, taps},
                                 {{right, taps / 3}, {0, top}, {other, stride}, {1, 1}, 1}}),
                  kAllTails[number / 2 % 4]));
      ++number;
    }
}

// From the least height and width to several tiles and more than one segment.
TEST_P(StemConv, EverySize) {
  int number = 0;
  for (std::int64_t size = 1; size <= 33; ++size) {
    const std::int64_t other = 5 + size * 7 % 29;
    const Tail tail = kAllTails[number % 4];
    const ConvCase strided{{2, 0, size, other}, {33, 0, 7, 7}, {{3, 3}, {3, 3}, {2, 2}, {1, 1}, 1}};
    // One row of outputs has no stride.
    if (size >= 3) run(problem(with_channels(3, strided), tail), 3);
    const ConvCase plain{
        {1, 0, other, size * 4}, {16, 0, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}};
    run(problem(with_channels(4, plain), tail), 4);
    ++number;
  }
}

// All channels there may be, with each type.
TEST_P(StemConv, EveryTypeAndChannel) {
  int number = 0;
  for (const DType input : kTypes)
    for (const DType output : kTypes) {
      const Tail tail = kAllTails[number % 4];
      for (const std::int64_t channels : {3, 4, 7, 8, 15}) {
        const ConvCase few{
            {1, channels, 9, 21}, {18, channels, 3, 4}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}};
        run(problem(few, tail, input, output), 2);
      }
      for (const std::int64_t channels : {16, 33, 64}) {
        const ConvCase strided{
            {1, channels, 13, 15}, {40, channels, 5, 5}, {{2, 2}, {2, 2}, {2, 2}, {1, 1}, 1}};
        run(problem(strided, tail, input, output), 1);
      }
      ++number;
    }
}

// As many rows as there may be phases.
TEST_P(StemConv, LongStrides) {
  run(problem({{2, 1, 300, 20}, {19, 1, 144, 3}, {{1, 1}, {2, 0}, {48, 1}, {1, 1}, 1}},
              Tail::bias_norm_relu));
  run(problem({{1, 1, 20, 300}, {19, 1, 4, 140}, {{1, 1}, {2, 0}, {1, 48}, {1, 1}, 1}},
              Tail::add_gelu));
}

// Of more than a second-level cache keeps: stored past the caches where that may be.
TEST_P(StemConv, LargeOutput) {
  const ConvCase shape{{2, 3, 160, 120}, {96, 3, 5, 5}, {{2, 2}, {2, 2}, {2, 2}, {1, 1}, 1}};
  run(problem(shape, Tail::bias_norm_relu), 1);
  run(problem(shape, Tail::add_gelu), 1);
}

TEST_P(StemConv, SameBitsForAnyThreadCount) {
  const ConvCase shape{{2, 3, 61, 67}, {70, 3, 7, 7}, {{3, 3}, {3, 3}, {2, 2}, {1, 1}, 1}};
  const Problem problem = this->problem(shape, Tail::everything);
  const KernelCase test(problem, random_);
  for (const cpu::StemConfig& config : cpu::stem_configs(problem, isa())) {
    const auto recipe = cpu::stem_recipe(problem, test.chain(), isa(), config);
    const std::vector<double> one = test.run(*recipe, 1).values();
    for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
  }
}

TEST_P(StemConv, NothingOutsideTheTensorsIsTouched) {
  if (GetParam().strides == Strides::padded) return;  // what lies between is theirs
  const ConvCase cases[] = {
      {{1, 3, 16, 19}, {19, 3, 7, 7}, {{3, 3}, {3, 3}, {2, 2}, {1, 1}, 1}},
      {{2, 2, 5, 5}, {16, 2, 3, 3}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 15, 7, 50}, {33, 15, 4, 3}, {{2, 1}, {1, 2}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 23, 27}, {8, 3, 11, 11}, {{0, 2}, {2, 0}, {4, 4}, {1, 1}, 1}},
      {{1, 33, 9, 8}, {20, 33, 5, 6}, {{2, 2}, {2, 2}, {2, 2}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (const DType type : kTypes)
      for (const End end : {End::front, End::back}) {
        const Problem problem = this->problem(shape, Tail::everything, type, type);
        const SplitChain chain = optimize(lower(problem), {});
        for (const cpu::StemConfig& config : cpu::stem_configs(problem, isa()))
          run_guarded(problem, chain, *cpu::stem_recipe(problem, chain, isa(), config), end);
      }
}

}  // namespace
}  // namespace fuseplan::test
