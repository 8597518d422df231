// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <limits>

#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/matrix/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::matrix_configs;
using cpu::matrix_recipe;
using cpu::matrix_refusal;

constexpr Strides kAllStrides[] = {Strides::channels_first, Strides::channels_last, Strides::padded,
                                   Strides::permuted};
constexpr DType kInputs[] = {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8};
constexpr DType kOutputs[] = {DType::bf16, DType::u8, DType::f32, DType::i8, DType::f16};

bool runs(DType input) {
  const cpu::Extensions has = cpu::host_extensions();
  return is_byte(input) ? has.tiles_int8 : has.tiles_bf16;
}

struct Setting {
  DType input;
  Strides strides;
};
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const DType input : kInputs)
    for (const Strides strides : kAllStrides)
      if (runs(input)) all.push_back({input, strides});
  return all;
}

TEST(MatrixMachine, SaysWhatItCannotTest) {
  for (const DType input : kInputs)
    if (!runs(input))
      std::printf("NOT TESTED: AMX convolutions of %s, for which this machine has no tiles\n",
                  name_of(input));
  EXPECT_EQ(settings().empty(), !runs(DType::bf16) && !runs(DType::u8));
}

class MatrixConv : public ::testing::TestWithParam<Setting> {
 protected:
  static DType input() { return GetParam().input; }
  static Strides strides() { return GetParam().strides; }
  /// Axes in random order leave few outputs with anything contiguous.
  static bool all_accepted() { return strides() != Strides::permuted; }

  Problem problem(const ConvCase& shape, DType output, Tail tail) {
    return conv_problem(shape, {input(), output, strides()}, tail, random_);
  }
  /// Whether the kernels take the problem; if they do, checks them in each configuration.
  bool run(const Problem& problem, bool all = false) {
    const KernelCase test(problem, random_);
    if (matrix_refusal(problem, test.chain())) return false;
    int threads = 0;
    for (const cpu::MatrixConfig& config :
         all ? all_configs(problem, test.chain()) : matrix_configs(problem, test.chain()))
      EXPECT_TRUE(
          test.check(test.run(*matrix_recipe(problem, test.chain(), config), 1 + threads++ % 3)))
          << to_text(config) << " " << to_text(problem);
    return true;
  }
  /// The tuning space, and its ways of reading with blocks that leave rests everywhere.
  static std::vector<cpu::MatrixConfig> all_configs(const Problem& problem,
                                                    const SplitChain& chain) {
    const std::vector<cpu::MatrixConfig> space = matrix_configs(problem, chain);
    std::vector<cpu::MatrixConfig> all = space, seen;
    for (cpu::MatrixConfig config : space) {
      // Each way of reading once.
      config.block = space.front().block;
      if (std::ranges::find(seen, config) != seen.end()) continue;
      seen.push_back(config);
      for (const std::int64_t block : {1, 40, 100}) {
        config.block = block;
        all.push_back(config);
      }
    }
    return all;
  }

  Random random_{43};
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MatrixConv);
INSTANTIATE_TEST_SUITE_P(All, MatrixConv, ::testing::ValuesIn(settings()), [](const auto& info) {
  return std::string(name_of(info.param.input)) + "_" + name_of(info.param.strides);
});

TEST_P(MatrixConv, Oddities) {
  std::size_t number = 0, accepted = 0;
  for (const ConvProblem& row : read_conv_problems("oddities.csv"))
    for (Tail tail :
         {Tail::none, Tail::requantise, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      SCOPED_TRACE(row.name);
      // Five tails and five outputs: the row number makes each meet each.
      const DType output = kOutputs[(number + number / 5) % 5];
      const Problem problem = this->problem(conv_case(row), output, tail);
      accepted += static_cast<std::size_t>(run(problem));
      ++number;
    }
  if (all_accepted()) {
    EXPECT_EQ(accepted, number);
  }
  EXPECT_GT(accepted, 0);
}

// Tiles that run over rows and planes, windows of parts of rows, steps that do not fill a tile,
// single tiles of pixels and of channels, strides that make phases, joined taps, groups, 1 to 3
// axes.
TEST_P(MatrixConv, EveryConfiguration) {
  const ConvCase cases[] = {
      {{1, 40, 7, 7}, {72, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 14, 14}, {40, 64, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 64, 5, 3}, {50, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 24, 6, 300}, {20, 24, 3, 3}, {{0, 0}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 30, 31}, {64, 3, 7, 7}, {{3, 3}, {3, 3}, {2, 2}, {1, 1}, 1}},
      {{1, 20, 21, 11}, {34, 10, 3, 5}, {{2, 4}, {2, 4}, {1, 1}, {2, 2}, 2}},
      {{1, 512, 9, 9}, {40, 512, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 130, 15, 17}, {33, 130, 3, 3}, {{1, 0}, {2, 1}, {2, 3}, {1, 1}, 1}},
      {{1, 17, 9, 33}, {33, 17, 2, 4}, {{0, 9}, {1, 0}, {2, 3}, {1, 5}, 1}},
      {{1, 128, 6, 6}, {96, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 2}},
      {{1, 48, 4, 40}, {80, 48, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 8, 4, 6, 7}, {24, 8, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {1, 2, 1}, {1, 1, 2}, 1}},
      {{1, 6, 5, 9, 7}, {10, 6, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {2, 2, 2}, {2, 2, 1}, 1}},
      {{2, 5, 40}, {9, 5, 3}, {{1}, {2}, {2}, {1}, 1}},
      // Joined taps whose first and last channels lie 31 apart without being neighbours.
      {{1, 4, 3, 40}, {20, 4, 1, 8}, {{0, 3}, {0, 4}, {1, 1}, {1, 1}, 1}},
      {{1, 16, 40}, {9, 16, 2}, {{0}, {1}, {1}, {1}, 1}},
      {{1, 7, 5, 30}, {33, 7, 1, 9}, {{0, 4}, {0, 4}, {1, 1}, {1, 1}, 1}},
      // Joined taps that are read where they lie: with zeros between rows that both have, some have
      // or none, strides below and above the filter's width, groups, steps with rests.
      {{1, 16, 9, 21}, {20, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 16, 10, 23}, {40, 16, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
      {{2, 12, 6, 14}, {17, 12, 3, 5}, {{0, 2}, {1, 3}, {1, 1}, {1, 1}, 1}},
      {{1, 8, 7, 40}, {33, 8, 2, 2}, {{0, 0}, {0, 1}, {3, 3}, {1, 1}, 1}},
      {{1, 64, 5, 33}, {64, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 2}, {1, 1}, 2}},
      {{1, 30, 9, 18}, {32, 30, 3, 4}, {{1, 3}, {1, 0}, {2, 1}, {1, 1}, 1}},
      // Rows that a stride takes together: evenly or not, above and below the image, with groups.
      {{1, 3, 40, 37}, {33, 3, 6, 5}, {{2, 2}, {3, 2}, {2, 2}, {1, 1}, 1}},
      {{2, 2, 23, 70}, {40, 2, 7, 3}, {{5, 0}, {4, 1}, {3, 1}, {1, 1}, 1}},
      {{1, 4, 12, 19}, {70, 2, 2, 9}, {{0, 4}, {1, 4}, {2, 2}, {1, 1}, 2}},
      {{1, 3, 4, 21, 20}, {32, 3, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}, 1}},
      // Whole strips: to the end of a share, of rows that hold one, and with a short tile of
      // channels behind full ones.
      {{1, 128, 8, 16}, {64, 128, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 40, 4, 70}, {32, 40, 1, 3}, {{0, 1}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 128, 9, 18}, {71, 128, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      // Strips with gaps between their rows: of two pixels and of one, wider than a row, and than a
      // strip.
      {{1, 40, 9, 14}, {64, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 70, 11, 9}, {50, 70, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 15, 28}, {32, 33, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
      {{1, 36, 12, 6}, {32, 36, 3, 3}, {{1, 4}, {1, 4}, {1, 1}, {1, 4}, 1}},
      {{1, 36, 5, 8}, {64, 36, 3, 3}, {{1, 24}, {1, 24}, {1, 1}, {1, 24}, 1}},
      // Images that follow one another in a tile.
      {{5, 48, 5, 7}, {70, 48, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{3, 48, 8, 7}, {70, 48, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{2, 64, 9, 4}, {48, 32, 1, 1}, {{0, 0}, {0, 0}, {3, 1}, {1, 1}, 2}},
      {{3, 40, 41}, {48, 40, 1}, {{0}, {0}, {2}, {1}, 1}},
      {{2, 33, 3, 4, 5}, {36, 33, 1, 1, 1}, {{0, 0, 0}, {0, 0, 0}, {1, 2, 1}, {1, 1, 1}, 1}},
      {{9, 100, 1, 1}, {40, 50, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 2}},
      // Many weights: images share windows, the last with fewer. Phases and groups.
      {{5, 400, 3, 2}, {370, 400, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{3, 400, 4, 3}, {740, 200, 3, 3}, {{1, 0}, {1, 1}, {2, 2}, {1, 1}, 2}},
      // A strip of one that waits for the next.
      {{3, 400, 2, 15}, {370, 400, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      // Strips of three tiles beside few steps and many.
      {{1, 60, 7, 30}, {64, 60, 2, 2}, {{0, 0}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 100, 8, 20}, {70, 100, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      // Kernels of four tiles of channels, three in the last.
      {{1, 64, 9, 18}, {352, 32, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 2}},
      {{2, 48, 7, 7}, {128, 48, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      // Groups that bytes multiply as one: some of them, all, of one channel, of whole tiles of
      // channels or parts, with taps joined, strides, rows that a stride takes together.
      {{1, 96, 9, 14}, {96, 8, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 12}},
      {{2, 24, 7, 9}, {30, 4, 3, 3}, {{1, 0}, {1, 2}, {1, 1}, {1, 1}, 6}},
      {{1, 40, 8, 17}, {80, 1, 3, 3}, {{1, 1}, {1, 1}, {2, 1}, {1, 1}, 40}},
      {{1, 128, 4, 18}, {64, 16, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 8}},
      {{1, 36, 9, 20}, {60, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 12}},
      {{1, 6, 11, 21}, {8, 3, 4, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 2}},
      {{1, 30, 3, 4, 9}, {20, 3, 2, 1, 3}, {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 2}, 10}},
      // Channels in place that do not fill their last step, with groups and merged ones.
      {{1, 97, 6, 19}, {70, 97, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 140, 5, 18}, {80, 70, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 2}},
      {{1, 195, 4, 18}, {72, 195, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 72, 4, 18}, {144, 6, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 12}},
      // More weights, and more input, than the first-level cache keeps.
      {{1, 1024, 3, 17}, {72, 1024, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 512, 11, 31}, {72, 512, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (const auto& [output, tail] : {std::pair{DType::u8, Tail::requantise},
                                       {DType::i8, Tail::requantise},
                                       {DType::bf16, Tail::bias_norm_relu}}) {
      const Problem problem = this->problem(shape, output, tail);
      const bool accepted = run(problem, true);
      if (all_accepted()) {
        EXPECT_TRUE(accepted);
      }
    }
}

// Padding wider than a tile or than the filter, on one side only; outputs that see nothing else.
TEST_P(MatrixConv, Borders) {
  const ConvCase cases[] = {
      {{1, 3, 5, 6}, {20, 3, 3, 3}, {{20, 40}, {7, 33}, {1, 1}, {1, 1}, 1}},
      {{1, 2, 9, 70}, {17, 2, 3, 3}, {{0, 24}, {2, 24}, {1, 1}, {1, 24}, 1}},
      {{1, 2, 1, 700}, {34, 2, 1, 350}, {{0, 100}, {0, 349}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 2, 900}, {5, 3, 1, 400}, {{0, 0}, {0, 7}, {1, 2}, {1, 2}, 1}},
      {{1, 7, 6, 6}, {18, 7, 1, 1}, {{1, 2}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 7, 9, 31}, {18, 7, 1, 1}, {{1, 2}, {3, 0}, {2, 3}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, DType::f32, Tail::everything);
    const bool accepted = run(problem, true);
    if (all_accepted()) {
      EXPECT_TRUE(accepted);
    }
  }
}

// What lies beside a pixel's last channel, beside the taps of a joined row or beyond a tile's own
// pixels must not get into a sum, not even as 0 * NaN.
TEST_P(MatrixConv, NothingLeaksIntoASum) {
  if (is_byte(input())) return;  // has no NaN
  const ConvCase cases[] = {
      {{1, 3, 9, 20}, {16, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 1, 9, 20}, {16, 1, 3, 3}, {{0, 0}, {0, 0}, {1, 2}, {1, 1}, 1}},
      {{1, 6, 9, 20}, {16, 6, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 16, 9, 20}, {16, 16, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
      {{1, 21, 9, 20}, {16, 21, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 35, 9, 20}, {40, 35, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 1}},
      {{1, 64, 9, 20}, {40, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 6, 9, 20}, {32, 3, 3, 3}, {{0, 1}, {1, 0}, {1, 1}, {1, 2}, 2}},
  };
  int checked = 0;
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, DType::f32, Tail::none);
    KernelCase test(problem, random_);
    if (matrix_refusal(problem, test.chain())) continue;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::int64_t last = problem.input().lens[1] - 1;
    for (const auto& [channel, value] : {std::pair<std::int64_t, double>{0, kNan},
                                         {last, std::numeric_limits<double>::infinity()}}) {
      test.set_input({0, 0, 4, 10}, 0.5);
      test.set_input({0, channel, 4, 10}, value);
      for (const cpu::MatrixConfig& config : all_configs(problem, test.chain())) {
        EXPECT_TRUE(test.check(test.run(*matrix_recipe(problem, test.chain(), config))))
            << to_text(config) << " " << to_text(problem);
        ++checked;
      }
    }
  }
  EXPECT_TRUE(checked > 0 || !all_accepted());
}

TEST_P(MatrixConv, SameBitsForAnyThreadCount) {
  const ConvCase cases[] = {
      {{3, 40, 31, 33}, {70, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{5, 400, 3, 4}, {370, 400, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 256, 20, 20}, {200, 256, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      // Windows of parts of rows that share their padding.
      {{1, 40, 3, 130}, {150, 40, 3, 5}, {{1, 20}, {1, 30}, {1, 1}, {1, 9}, 1}},
      {{1, 64, 24, 24}, {96, 32, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 2}},
  };
  for (const ConvCase& shape : cases)
    for (const DType output : {DType::f32, DType::u8}) {
      const Problem problem = this->problem(shape, output, Tail::everything);
      const KernelCase test(problem, random_);
      if (matrix_refusal(problem, test.chain())) continue;
      const std::vector<cpu::MatrixConfig> configs = matrix_configs(problem, test.chain());
      for (const cpu::MatrixConfig& config : {configs.front(), configs.back()}) {
        const auto recipe = matrix_recipe(problem, test.chain(), config);
        const std::vector<double> one = test.run(*recipe, 1).values();
        for (int threads : {2, 3, 7})
          EXPECT_EQ(test.run(*recipe, threads).values(), one) << threads << to_text(config);
      }
    }
}

TEST_P(MatrixConv, NothingOutsideTheTensorsIsTouched) {
  // Tensors with holes end in one.
  if (strides() == Strides::permuted || strides() == Strides::padded) return;
  const ConvCase cases[] = {
      {{2, 5, 6, 9}, {19, 5, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 36, 7, 7}, {35, 36, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 7, 7}, {35, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 7, 7}, {99, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 67, 7, 7}, {99, 67, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 9, 9}, {17, 33, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 24, 8, 21}, {36, 2, 5, 3}, {{2, 4}, {3, 1}, {2, 1}, {1, 2}, 12}},
      {{1, 3, 4, 5, 6}, {7, 3, 3, 2, 3}, {{1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (Tail tail : {Tail::everything, Tail::requantise})
      for (DType output : {DType::u8, DType::bf16})
        for (End end : {End::front, End::back}) {
          const Problem problem = this->problem(shape, output, tail);
          const SplitChain chain = optimize(lower(problem), {});
          ASSERT_EQ(matrix_refusal(problem, chain), std::nullopt);
          for (const cpu::MatrixConfig& config : all_configs(problem, chain))
            run_guarded(problem, chain, *matrix_recipe(problem, chain, config), end);
        }
}

class MatrixRows : public ::testing::Test {
 protected:
  /// In every configuration of the tuning space, on one to three threads.
  void run(std::initializer_list<const char*> texts) {
    if (!runs(DType::f32)) return;  // SaysWhatItCannotTest says so
    int threads = 0;
    for (const char* text : texts) {
      const Problem problem = parse_problem(text);
      const KernelCase test(problem, random_);
      ASSERT_EQ(matrix_refusal(problem, test.chain()), std::nullopt) << text;
      for (const cpu::MatrixConfig& config : matrix_configs(problem, test.chain()))
        EXPECT_TRUE(
            test.check(test.run(*matrix_recipe(problem, test.chain(), config), 1 + threads++ % 3)))
            << to_text(config) << " " << text;
    }
  }
  Random random_{44};
};

// Rows of one pixel are contiguous whatever lies between them.
TEST_F(MatrixRows, OfOnePixel) {
  run({"f32:1x256x400x1:s102400,400,1,400;conv(f32:48x256x1x1)->f32:1x48x400x1:s38400,800,2,1",
       "f32:1x256x400x1;conv(f32:48x256x1x1)->f32:1x48x400x1:s38400,800,2,2",
       "f32:1x64x400x1:s51200,800,2,1;conv(f32:40x64x1x1);bias(f32:1x40x1x1)->f32:1x40x400x1"});
}

// Operands that are the same for all images, rows or pixels, and tensors with gaps between images.
TEST_F(MatrixRows, OfSeveralImages) {
  run({"f32:5x64x6x7;conv(f32:40x64x1x1);add(f32:1x40x6x7);activation(relu)",
       "f32:5x64x6x7:nhwc;conv(f32:40x64x1x1,stride=2x1);add(f32:5x40x3x1:nhwc)",
       "f32:5x64x6x7:nhwc;conv(f32:40x64x1x1,stride=2x2);add(f32:1x40x1x1)",
       "f32:5x64x6x7:nhwc;conv(f32:40x64x1x1,stride=2x2);add(f32:5x40x1x1);bias(f32:1x40x1x1)",
       "f32:3x64x6x6:s3000,1,384,64;conv(f32:33x64x1x1)->f32:3x33x6x6:s1300,1,198,33",
       "f32:3x64x6x6:s3000,36,6,1;conv(f32:33x64x1x1)->f32:3x33x6x6:s1300,36,6,1",
       "f32:4x64x6x6:s2304,1,384,64;conv(f32:33x64x1x1,stride=2x2)->f32:4x33x3x3:s400,1,99,33"});
}

}  // namespace
}  // namespace fuseplan::test
