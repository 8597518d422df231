// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/denormals.hpp"
#include "guarded_run.hpp"
#include "isa_strides.hpp"
#include "kernels/cpu/conv1x1/pack_weights.hpp"
#include "kernels/cpu/conv1x1/recipe.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::test {
namespace {

constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything};

class Conv1x1 : public ::testing::TestWithParam<IsaStrides> {
 protected:
  struct Types {
    DType input, output;
  };
  /// All pairs of real types in nine calls.
  Types next_types() {
    constexpr DType kReal[] = {DType::f32, DType::f16, DType::bf16};
    const int number = number_++;
    return {kReal[number % 3], kReal[number / 3 % 3]};
  }
  Problem problem(const ConvCase& shape, Types types, Tail tail) {
    return conv_problem(shape, {types.input, types.output, GetParam().strides}, tail, random_);
  }
  /// Whether the kernels take the problem; if they do, checks them with the first `most`
  /// configurations.
  bool run(const Problem& problem, std::size_t most = 1) {
    const KernelCase test(problem, random_);
    if (is_refused(problem, test.chain())) return false;
    const FlushDenormals flush;
    for (const cpu::Conv1x1Config& config : cpu::conv1x1_configs(problem, test.chain(), isa())) {
      EXPECT_TRUE(test.check(test.run(*cpu::conv1x1_recipe(problem, test.chain(), isa(), config))))
          << to_text(config);
      if (--most == 0) break;
    }
    return true;
  }
  bool is_refused(const Problem& problem, const SplitChain& chain) const {
    return cpu::conv1x1_geometry_refusal(problem) || cpu::conv1x1_refusal(problem, chain, isa()) ||
           !walks_groups(cpu::conv1x1_shape(problem, chain, isa()));
  }
  static cpu::Isa isa() { return GetParam().isa; }
  bool is_dense() const {
    return GetParam().strides == Strides::channels_first ||
           GetParam().strides == Strides::channels_last;
  }

  Random random_{41};

 private:
  int number_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, Conv1x1,
                         ::testing::ValuesIn(on_vector_isas({Strides::channels_first,
                                                             Strides::channels_last,
                                                             Strides::padded, Strides::permuted})),
                         name_of_param);

Conv unit_conv(int axes, std::int64_t stride) {
  Conv conv;
  conv.pad_lo.assign(static_cast<std::size_t>(axes), 0);
  conv.pad_hi = conv.pad_lo;
  conv.stride.assign(static_cast<std::size_t>(axes), stride);
  conv.dilation.assign(static_cast<std::size_t>(axes), 1);
  conv.groups = 1;
  return conv;
}

Conv unit_conv(std::vector<std::int64_t> strides) {
  Conv conv = unit_conv(static_cast<int>(strides.size()), 1);
  conv.stride.assign(strides.begin(), strides.end());
  return conv;
}

// Lanes and rows that divide nothing, one of each, and the tails that are worked off in half
// vectors.
TEST_P(Conv1x1, OddShapes) {
  const ConvCase cases[] = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, unit_conv(2, 1)},
      {{3, 5, 1, 1}, {70, 5, 1, 1}, unit_conv(2, 1)},
      {{1, 27, 1, 3}, {16, 27, 1, 1}, unit_conv(2, 1)},
      {{1, 14, 2, 2}, {5, 14, 1, 1}, unit_conv(2, 1)},
      {{2, 7, 5, 5}, {1, 7, 1, 1}, unit_conv(2, 1)},
      {{2, 33, 7, 7}, {35, 33, 1, 1}, unit_conv(2, 1)},
      {{1, 256, 4, 6}, {24, 256, 1, 1}, unit_conv(2, 1)},
      {{1, 17, 13, 16}, {150, 17, 1, 1}, unit_conv(2, 1)},
      {{2, 20, 9, 14}, {40, 20, 1, 1}, unit_conv(2, 2)},
      {{1, 256, 8, 7}, {47, 256, 1, 1}, unit_conv(2, 3)},
      {{2, 20, 9, 14}, {40, 20, 1, 1}, unit_conv({2, 1})},
      {{1, 21, 6, 13}, {38, 21, 1, 1}, unit_conv({1, 3})},
      {{1, 9, 5, 4, 7}, {18, 9, 1, 1, 1}, unit_conv({3, 1, 2})},
      {{2, 6, 40}, {19, 6, 1}, unit_conv(1, 1)},
      {{1, 10, 3, 4, 5}, {26, 10, 1, 1, 1}, unit_conv(3, 1)},
      {{2, 9, 5, 4, 7}, {18, 9, 1, 1, 1}, unit_conv(3, 2)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : kAllTails) {
      const bool accepted = run(problem(shape, next_types(), tail));
      if (is_dense() && tail != Tail::everything) {
        EXPECT_TRUE(accepted);
      }
    }
}

Conv in_groups(Conv conv, int groups) {
  conv.groups = groups;
  return conv;
}

// Of one output in NHWC, pixels are lanes: their channels are turned to planes by squares, of which
// the last ones overlap.
TEST_P(Conv1x1, OneOutput) {
  const ConvCase cases[] = {
      {{1, 19, 9, 11}, {1, 19, 1, 1}, unit_conv(2, 1)},
      {{2, 41, 7, 9}, {1, 41, 1, 1}, unit_conv(2, 1)},
      {{1, 130, 5, 37}, {1, 130, 1, 1}, unit_conv(2, 1)},
      {{1, 33, 19, 41}, {1, 33, 1, 1}, unit_conv(2, 2)},
      {{1, 16, 3, 8}, {1, 16, 1, 1}, unit_conv(2, 1)},
      {{1, 72, 4, 6, 17}, {1, 72, 1, 1, 1}, unit_conv(3, 1)},
  };
  for (int types = 0; types < 3; ++types)
    for (const ConvCase& shape : cases)
      for (const Tail tail : {Tail::bias_norm_relu, Tail::add_gelu})
        EXPECT_TRUE(run(problem(shape, next_types(), tail), 4) || !is_dense());
}

// Where pixels are contiguous; elsewhere another solver's.
const ConvCase kGroups[] = {
    {{2, 51, 13, 11}, {69, 17, 1, 1}, in_groups(unit_conv(2, 1), 3)},
    {{1, 40, 9, 14}, {44, 20, 1, 1}, in_groups(unit_conv(2, 2), 2)},
    {{3, 64, 7, 7}, {96, 16, 1, 1}, in_groups(unit_conv(2, 1), 4)},
    {{2, 6, 5, 5}, {18, 1, 1, 1}, in_groups(unit_conv(2, 1), 6)},
    {{1, 130, 33, 31}, {78, 65, 1, 1}, in_groups(unit_conv(2, 1), 2)},
};
TEST_P(Conv1x1, Groups) {
  for (const ConvCase& shape : kGroups)
    for (const Tail tail : kAllTails) {
      const bool accepted = run(problem(shape, next_types(), tail));
      if (GetParam().strides == Strides::channels_first && tail != Tail::everything) {
        EXPECT_TRUE(accepted);
      }
    }
}

TEST_P(Conv1x1, Configurations) {
  const ConvCase cases[] = {
      {{2, 21, 12, 13}, {70, 21, 1, 1}, unit_conv(2, 1)},
      {{1, 256, 20, 23}, {153, 256, 1, 1}, unit_conv(2, 1)},
      {{2, 18, 17, 15}, {91, 18, 1, 1}, unit_conv(2, 2)},
      {{2, 36, 17, 15}, {105, 12, 1, 1}, in_groups(unit_conv(2, 1), 3)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : {Tail::bias_norm_relu, Tail::everything})
      for (const DType type : {DType::f32, DType::f16})
        run(problem(shape, {type, DType::f32}, tail), 100);
}

TEST_P(Conv1x1, SameBitsForAnyThreadCount) {
  const ConvCase cases[] = {
      {{3, 40, 31, 33}, {70, 40, 1, 1}, unit_conv(2, 1)},
      {{1, 300, 20, 20}, {200, 300, 1, 1}, unit_conv(2, 2)},
      {{1, 512, 3, 5}, {900, 512, 1, 1}, unit_conv(2, 1)},
      {{2, 120, 31, 33}, {75, 40, 1, 1}, in_groups(unit_conv(2, 1), 3)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : {Tail::bias_norm_relu, Tail::add_gelu}) {
      const Problem problem = this->problem(shape, next_types(), tail);
      const KernelCase test(problem, random_);
      if (is_refused(problem, test.chain())) continue;
      const auto recipe = cpu::conv1x1_recipe(
          problem, test.chain(), isa(), cpu::conv1x1_configs(problem, test.chain(), isa()).front());
      const std::vector<double> one = test.run(*recipe, 1).values();
      for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
    }
}

// KernelCase::run compares the bits of packed and of raw weights. Here they are more than a cache
// keeps, so that they are taken raw in spite of several blocks of pixels, staged or not. Seven
// threads have too few pieces of channels each, and pack all of them first.
TEST_P(Conv1x1, RawWeightsThatNoCacheKeeps) {
  const ConvCase cases[] = {
      {{1, 1000, 9, 11}, {143, 1000, 1, 1}, unit_conv(2, 1)},
      {{1, 523, 11, 13}, {262, 523, 1, 1}, unit_conv(2, 1)},
      {{1, 640, 15, 17}, {256, 640, 1, 1}, unit_conv(2, 2)},
      {{2, 1001, 5, 4}, {150, 1001, 1, 1}, unit_conv(2, 1)},
      {{1, 600, 2, 7, 9}, {230, 600, 1, 1, 1}, unit_conv(3, 1)},
  };
  int in_passing = 0;
  for (const ConvCase& shape : cases)
    for (const Types types : {Types{DType::f32, DType::f32}, Types{DType::f32, DType::f16},
                              Types{DType::bf16, DType::f32}, Types{DType::f16, DType::bf16}}) {
      const Tail tail = types.input == types.output ? Tail::bias_norm_relu : Tail::add_gelu;
      const Problem problem = this->problem(shape, types, tail);
      const KernelCase test(problem, random_);
      if (is_refused(problem, test.chain())) continue;
      const FlushDenormals flush;
      const auto configs = cpu::conv1x1_configs(problem, test.chain(), isa());
      for (std::size_t i = 0; i < configs.size(); i += 3) {
        cpu::Conv1x1Config config = configs[i];
        config.block = std::min<std::int64_t>(config.block, 32);
        const cpu::Conv1x1Plan plan = cpu::conv1x1_plan(
            cpu::conv1x1_shape(problem, test.chain(), isa()), test.chain(), config);
        if (packs_in_passing(plan) && plan.block < plan.pixels.pieces()) ++in_passing;
        const auto recipe = cpu::conv1x1_recipe(problem, test.chain(), isa(), config);
        for (const int threads : {1, 2, 7})
          EXPECT_TRUE(test.check(test.run(*recipe, threads))) << to_text(config);
      }
    }
  if (is_dense()) {
    EXPECT_GT(in_passing, 30);
  }
}

TEST_P(Conv1x1, NothingOutsideTheTensorsIsTouched) {
  const ConvCase cases[] = {
      {{1, 33, 7, 7}, {35, 33, 1, 1}, unit_conv(2, 1)},
      {{2, 5, 6, 10}, {19, 5, 1, 1}, unit_conv(2, 1)},
      {{1, 33, 9, 9}, {17, 33, 1, 1}, unit_conv(2, 2)},
      {{1, 9, 33, 35}, {73, 9, 1, 1}, unit_conv(2, 1)},
      {{1, 70, 5, 5}, {64, 70, 1, 1}, unit_conv(2, 1)},
      {{1, 34, 5, 7}, {38, 17, 1, 1}, in_groups(unit_conv(2, 1), 2)},
      {{1, 19, 9, 43}, {1, 19, 1, 1}, unit_conv(2, 1)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : kAllTails)
      for (const Types types : {Types{DType::f32, DType::f32}, Types{DType::f32, DType::f16},
                                Types{DType::f16, DType::bf16}, Types{DType::bf16, DType::f32}})
        for (const End end : {End::front, End::back}) {
          const Problem problem = this->problem(shape, types, tail);
          const SplitChain chain = optimize(lower(problem), {});
          if (is_refused(problem, chain)) continue;
          const auto configs = cpu::conv1x1_configs(problem, chain, isa());
          for (std::size_t i = 0; i < configs.size(); i += 5)
            run_guarded(problem, chain, *cpu::conv1x1_recipe(problem, chain, isa(), configs[i]),
                        end);
        }
}

}  // namespace
}  // namespace fuseplan::test
