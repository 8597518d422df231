// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "emit_kernel.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/direct/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Strides kAllStrides[] = {Strides::channels_first, Strides::channels_last, Strides::padded,
                                   Strides::permuted};
constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything};
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

struct Setting {
  cpu::Target target;
  Strides strides;
};
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const cpu::Target& target : vector_targets())
    for (Strides strides : kAllStrides) all.push_back({target, strides});
  return all;
}

class DirectConv : public ::testing::TestWithParam<Setting> {
 protected:
  /// Whether the kernels take the problem; if they do, checks them with each of `configs`, or the
  /// default.
  bool run(const Problem& problem, std::vector<cpu::DirectConfig> configs = {}) {
    const KernelCase test(problem, random_);
    const cpu::Target& target = GetParam().target;
    if (direct_refusal(problem, test.chain(), target)) return false;
    if (configs.empty()) configs.push_back(direct_configs(problem, target).front());
    const FlushDenormals flush;
    for (const cpu::DirectConfig& config : configs)
      EXPECT_TRUE(test.check(test.run(*direct_recipe(problem, test.chain(), target, config))))
          << to_text(config);
    return true;
  }

  Problem problem(const ConvCase& shape, DType input, DType output, Tail tail) {
    return conv_problem(shape, {input, output, GetParam().strides}, tail, random_);
  }
  /// Axes in random order leave few outputs with anything contiguous.
  bool all_accepted() const { return GetParam().strides != Strides::permuted; }

  Random random_{21};
};
INSTANTIATE_TEST_SUITE_P(All, DirectConv, ::testing::ValuesIn(settings()), [](const auto& info) {
  return name_of(info.param.target) + "_" + name_of(info.param.strides);
});

TEST_P(DirectConv, Oddities) {
  int number = 0, accepted = 0;
  for (const ConvProblem& row : read_conv_problems("oddities.csv"))
    for (Tail tail : kAllTails) {
      SCOPED_TRACE(row.name);
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      ++number;
      accepted += run(problem(conv_case(row), in, out, tail));
    }
  if (all_accepted()) {
    EXPECT_EQ(accepted, number);
  }
  EXPECT_GT(accepted, 0);
}

TEST_P(DirectConv, OneAndThreeSpatialAxes) {
  const ConvCase cases[] = {
      {{2, 5, 40}, {9, 5, 3}, {{1}, {2}, {2}, {1}, 1}},
      {{1, 8, 130}, {8, 1, 5}, {{4}, {4}, {1}, {2}, 8}},
      {{1, 4, 5, 9, 7}, {10, 4, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {1, 2, 1}, {1, 1, 2}, 1}},
      {{2, 6, 4, 6, 6}, {12, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {2, 1, 1}, {1, 1, 1}, 6}},
      {{1, 10, 3, 4, 5}, {6, 5, 1, 1, 1}, {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 2}},
  };
  for (const ConvCase& shape : cases)
    for (DType type : kTypes) {
      const bool accepted = run(problem(shape, type, DType::f32, Tail::everything));
      if (all_accepted()) {
        EXPECT_TRUE(accepted);
      }
    }
}

// What the border of an image does to tiles: padding wider than a tile or than
// the filter, on one side only, tiles that see nothing but padding, and filters
// too wide to unroll.
TEST_P(DirectConv, Borders) {
  const ConvCase cases[] = {
      {{1, 3, 5, 6}, {20, 3, 3, 3}, {{20, 40}, {7, 33}, {1, 1}, {1, 1}, 1}},
      {{1, 2, 9, 70}, {17, 2, 3, 3}, {{0, 24}, {2, 24}, {1, 1}, {1, 24}, 1}},
      {{1, 2, 4, 33}, {33, 2, 2, 4}, {{0, 9}, {1, 0}, {2, 3}, {1, 5}, 1}},
      {{1, 2, 1, 700}, {34, 2, 1, 350}, {{0, 100}, {0, 349}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 2, 900}, {5, 3, 1, 400}, {{0, 0}, {0, 7}, {1, 2}, {1, 2}, 1}},
      {{1, 7, 6, 6}, {18, 7, 1, 1}, {{1, 2}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 7, 9, 31}, {18, 7, 1, 1}, {{1, 2}, {3, 0}, {2, 3}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (DType type : {DType::f32, DType::bf16}) {
      const bool accepted = run(problem(shape, type, type, Tail::bias_norm_relu));
      if (all_accepted()) {
        EXPECT_TRUE(accepted);
      }
    }
}

// Every tile the tuner may choose, with blocks, chunks and strips that do not
// divide the problem.
TEST_P(DirectConv, Configurations) {
  const ConvCase cases[] = {
      {{2, 19, 9, 75}, {70, 19, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 38, 15, 17}, {52, 19, 3, 2}, {{1, 0}, {1, 1}, {2, 2}, {1, 1}, 2}},
      {{2, 21, 12, 13}, {70, 21, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 19, 5, 7},
       {70, 19, 3, 3},
       {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},  // more vectors than pixels
  };
  for (const ConvCase& shape : cases)
    for (DType type : {DType::f32, DType::bf16}) {
      const Problem problem = this->problem(shape, type, type, Tail::add_gelu);
      std::vector<cpu::DirectConfig> configs;
      for (cpu::DirectConfig config : direct_configs(problem, GetParam().target)) {
        if (type == DType::bf16 && !config.pairs) continue;
        for (const bool staged : {false, true})
          for (const auto& [block, chunk] : {std::pair{30, 7}, std::pair{200, 64}}) {
            config.block = block;
            config.chunk = chunk;
            config.staged = staged;
            configs.push_back(config);
          }
      }
      if (!configs.empty()) run(problem, configs);
    }
}

// Chains that end in the tile's registers: operands of every type, the previous output, more
// values than registers are free, sums carried over several chunks or none.
TEST_P(DirectConv, ChainsInRegisters) {
  const ConvCase cases[] = {
      {{2, 19, 9, 31}, {64, 19, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 38, 15, 17}, {96, 19, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 2}},
      {{2, 24, 12, 13}, {48, 24, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (DType in : kTypes)
      for (DType out : kTypes)
        for (Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::residual}) {
          const Problem problem = this->problem(shape, in, out, tail);
          for (const int chunk : {8, 64}) {
            if (chunk == 64 && in != DType::f32) continue;
            auto configs = direct_configs(problem, GetParam().target);
            for (cpu::DirectConfig& config : configs) config.chunk = chunk;
            run(problem, configs);
          }
        }
}

// With pairs, what lies beside a single channel must not get into the sum, not even as 0 * NaN, nor
// the channel itself a second time as 0 * infinity.
TEST_P(DirectConv, SingleChannelsAreAlone) {
  const ConvCase cases[] = {
      {{1, 3, 9, 20}, {16, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 1, 9, 20}, {16, 1, 3, 3}, {{0, 0}, {0, 0}, {1, 2}, {1, 1}, 1}},
      {{1, 21, 9, 20}, {16, 21, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 6, 9, 20}, {32, 3, 3, 3}, {{0, 1}, {1, 0}, {1, 1}, {1, 2}, 2}},
  };
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, DType::bf16, DType::f32, Tail::none);
    KernelCase test(problem, random_);
    const cpu::Target& target = GetParam().target;
    if (direct_refusal(problem, test.chain(), target)) continue;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::int64_t last = problem.input().lens[1] - 1;
    for (const auto& [channel, value] : {std::pair<std::int64_t, double>{0, kNan},
                                         {last, std::numeric_limits<double>::infinity()}}) {
      test.set_input({0, 0, 4, 10}, 0.5);
      test.set_input({0, channel, 4, 10}, value);
      for (const cpu::DirectConfig& config : direct_configs(problem, target)) {
        const FlushDenormals flush;
        EXPECT_TRUE(test.check(test.run(*direct_recipe(problem, test.chain(), target, config))))
            << to_text(config);
      }
    }
  }
}

TEST_P(DirectConv, SameBitsForAnyThreadCount) {
  const cpu::Target& target = GetParam().target;
  const ConvCase cases[] = {
      {{3, 40, 31, 33}, {70, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 300, 20, 20}, {200, 300, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 24, 24}, {96, 16, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}, 4}},
  };
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, DType::bf16, DType::f32, Tail::everything);
    const KernelCase test(problem, random_);
    if (direct_refusal(problem, test.chain(), target)) continue;
    const auto recipe =
        direct_recipe(problem, test.chain(), target, direct_configs(problem, target).front());
    const std::vector<double> one = test.run(*recipe, 1).values();
    for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
  }
}

}  // namespace
}  // namespace fuseplan::test
