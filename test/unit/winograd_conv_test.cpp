// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "isa_strides.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything};
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
constexpr cpu::WinogradConfig kTiles[] = {{4, 4, 6, 2, 12}, {2, 2, 6, 2, 6}, {2, 4, 4, 3, 12}};

class WinogradConv : public ::testing::TestWithParam<IsaStrides> {
 protected:
  Problem problem(const ConvCase& shape, Tail tail, DType input = DType::f32,
                  DType output = DType::f32) {
    return conv_problem(shape, {input, output, GetParam().strides}, tail, random_);
  }

  /// Checks the kernels with `config`, or the default.
  void run(const Problem& problem, std::vector<cpu::WinogradConfig> configs = {}) {
    const KernelCase test(problem, random_);
    const cpu::Isa isa = GetParam().isa;
    ASSERT_FALSE(cpu::winograd_refusal(problem, test.chain(), isa)) << to_text(problem);
    if (configs.empty()) configs.push_back(cpu::winograd_configs(problem, isa).front());
    const FlushDenormals flush;
    for (const cpu::WinogradConfig& config : configs)
      EXPECT_TRUE(test.check(test.run(*cpu::winograd_recipe(problem, test.chain(), isa, config))))
          << to_text(config) << " " << to_text(problem);
  }

  Random random_{41};
};
INSTANTIATE_TEST_SUITE_P(All, WinogradConv,
                         ::testing::ValuesIn(on_vector_isas(
                             {Strides::channels_first, Strides::channels_last, Strides::padded})),
                         name_of_param);

// Every height and width from the least to several tiles, neither channels in whole vectors.
TEST_P(WinogradConv, EverySize) {
  int number = 0;
  for (std::int64_t size = 1; size <= 31; ++size) {
    const std::int64_t other = 3 + size * 7 % 29;
    const Tail tail = kAllTails[number % 4];
    const cpu::WinogradConfig& config = kTiles[number++ % 3];
    run(problem({{1, 16, size, other}, {17, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}}, tail),
        {config});
    run(problem({{2, 21, other, size}, {50, 21, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}}, tail));
  }
}

// Filters of each height and width, in every tile there is for them.
TEST_P(WinogradConv, EveryFilter) {
  int number = 0, tiles = 0;
  for (const std::int64_t height : {1, 3, 4, 5, 7})
    for (const std::int64_t width : {1, 3, 4, 5, 7}) {
      if (height * width == 1 || height * width == 49) continue;
      const std::int64_t top = number % height, left = number % width;
      for (const auto& [rows, columns] : {std::pair{12, 31}, {9, 8}}) {
        const ConvCase shape{{2, 16 + number % 3, rows, columns},
                             {33, 16 + number % 3, height, width},
                             {{top, left}, {height / 2, width - 1}, {1, 1}, {1, 1}, 1}};
        const Problem problem = this->problem(shape, kAllTails[number % 4], kTypes[number % 3]);
        ++number;
        const auto configs = cpu::winograd_configs(problem, GetParam().isa);
        tiles += static_cast<int>(configs.size());
        run(problem, configs);
      }
    }
  EXPECT_GT(tiles, 100);
}

// At stride 2, of both sides or of one, in every tile there is: every size to several tiles, and
// each padding.
TEST_P(WinogradConv, EveryTileAtStrideTwo) {
  int number = 0;
  for (std::int64_t size = 1; size <= 25; ++size) {
    const std::int64_t other = 3 + size * 5 % 23, top = size % 3, left = size / 3 % 3;
    const std::int64_t rows = number % 6 == 4 ? 1 : 2, columns = number % 6 == 5 ? 1 : 2;
    const ConvCase shape{{2, 16 + number % 5, size, other},
                         {35, 16 + number % 5, 3, 3},
                         {{top, left}, {2 - size % 2, 1 + left % 2}, {rows, columns}, {1, 1}, 1}};
    const Problem problem =
        this->problem(shape, kAllTails[number % 4], kTypes[number % 3], kTypes[number / 3 % 3]);
    ++number;
    run(problem, cpu::winograd_configs(problem, GetParam().isa));
  }
  run(problem({{1, 20, 7, 150}, {64, 20, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
              Tail::everything));
  run(problem({{1, 32, 161, 160}, {8, 32, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
              Tail::add_gelu));
}

// Taps that are apart: every size to several runs of tiles, dilations that differ by axis, in every
// tile there is. Sizes below the taps' reach are those whose outputs all see a pixel.
TEST_P(WinogradConv, EveryTileUnderDilation) {
  const bool wide = GetParam().isa == cpu::Isa::avx512;
  int number = 0, tiles = 0;
  for (std::int64_t size = 1; size <= 40; ++size) {
    const std::int64_t rows = 1 + number % 9, columns = 1 + number * 5 % (wide ? 14 : 6);
    const std::int64_t other = 1 + size * 7 % 37, channels = 16 + number % 5;
    const std::int64_t height = number % 7 == 5 ? 1 : 3;
    const std::int64_t width = number % 7 == 6 ? 5 : 3;
    const std::int64_t top = (height - 1) * rows / 2, left = (width - 1) * columns / 2;
    const std::int64_t more = other > columns ? columns / 2 : 0;
    const ConvCase shape{{2, channels, size, other},
                         {35, channels, height, width},
                         {{top, left}, {top, left + more}, {1, 1}, {rows, columns}, 1}};
    const Problem problem =
        this->problem(shape, kAllTails[number % 4], kTypes[number % 3], kTypes[number / 3 % 3]);
    ++number;
    const auto configs = cpu::winograd_configs(problem, GetParam().isa);
    tiles += static_cast<int>(configs.size());
    run(problem, configs);
  }
  EXPECT_GT(tiles, 120);
  run(problem({{1, 20, 9, 150}, {64, 20, 3, 3}, {{2, 3}, {2, 3}, {1, 1}, {2, 3}, 1}},
              Tail::everything));
  run(problem({{1, 32, 161, 160}, {8, 32, 3, 3}, {{2, 2}, {2, 2}, {1, 1}, {2, 2}, 1}},
              Tail::add_gelu));
}

TEST_P(WinogradConv, EveryType) {
  int number = 0;
  for (const DType input : kTypes)
    for (const DType output : kTypes) {
      const Tail tail = kAllTails[number % 4];
      const cpu::WinogradConfig& config = kTiles[number++ % 3];
      run(problem({{2, 19, 6, 15}, {34, 19, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}}, tail,
                  input, output),
          {config});
      run(problem({{1, 32, 9, 70}, {16, 32, 3, 3}, {{0, 2}, {1, 0}, {1, 1}, {1, 1}, 1}}, tail,
                  input, output));
    }
}

TEST_P(WinogradConv, EveryPadding) {
  for (std::int64_t top = 0; top <= 2; ++top)
    for (std::int64_t left = 0; left <= 2; ++left)
      for (std::int64_t bottom = 0; bottom <= 2; ++bottom) {
        const std::int64_t right = (top + left + bottom) % 3;
        run(problem(
            {{1, 19, 9, 18}, {34, 19, 3, 3}, {{top, left}, {bottom, right}, {1, 1}, {1, 1}, 1}},
            Tail::bias_norm_relu));
        run(problem(
            {{1, 32, 4, 3}, {16, 32, 3, 3}, {{top, left}, {bottom, right}, {1, 1}, {1, 1}, 1}},
            Tail::everything));
      }
}

// Few and many channels on either side, rows wider than a segment, all chains.
TEST_P(WinogradConv, ChannelsAndChains) {
  const ConvCase cases[] = {
      {{1, 16, 12, 12}, {1, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{3, 17, 7, 7}, {64, 17, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 256, 10, 11}, {33, 256, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{5, 48, 6, 5}, {96, 48, 3, 3}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 20, 5, 150}, {40, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (Tail tail : kAllTails) run(problem(shape, tail));
}

// Of more than a second-level cache keeps, a tile asks for the next one's pixels: to the end, and
// beyond it, where nothing is.
TEST_P(WinogradConv, LargeInput) {
  run(problem({{1, 32, 161, 160}, {8, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
              Tail::bias_norm_relu));
}

TEST_P(WinogradConv, Configurations) {
  const ConvCase shape{{3, 35, 17, 37}, {70, 35, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}};
  const Problem problem = this->problem(shape, Tail::add_gelu);
  std::vector<cpu::WinogradConfig> configs;
  for (cpu::WinogradConfig config : cpu::winograd_configs(problem, GetParam().isa)) {
    configs.push_back(config);
    for (std::int64_t tiles : {1, 14, 42, 1000}) {
      config.tiles = tiles;
      configs.push_back(config);
    }
  }
  run(problem, configs);
}

TEST_P(WinogradConv, SameBitsForAnyThreadCount) {
  const ConvCase cases[] = {
      {{3, 40, 31, 33}, {70, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 7, 8}, {200, 64, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 33, 21, 44}, {48, 33, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
      {{2, 33, 21, 44}, {48, 33, 3, 3}, {{2, 4}, {2, 4}, {1, 1}, {2, 4}, 1}},
  };
  const cpu::Isa isa = GetParam().isa;
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, Tail::everything);
    const KernelCase test(problem, random_);
    for (const cpu::WinogradConfig& config : cpu::winograd_configs(problem, isa)) {
      const auto recipe = cpu::winograd_recipe(problem, test.chain(), isa, config);
      const std::vector<double> one = test.run(*recipe, 1).values();
      for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
    }
  }
}

}  // namespace
}  // namespace fuseplan::test
