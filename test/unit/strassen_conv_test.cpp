// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/denormals.hpp"
#include "guarded_run.hpp"
#include "isa_strides.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/strassen/plan.hpp"
#include "kernels/cpu/strassen/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu,
                              Tail::gelu_add_mish};
constexpr DType kReal[] = {DType::f32, DType::f16, DType::bf16};

struct Types {
  DType input, output;
};

class StrassenConv : public ::testing::TestWithParam<IsaStrides> {
 protected:
  /// All pairs of real types in nine calls.
  Types next_types() {
    const int number = number_++;
    return {kReal[number % 3], kReal[number / 3 % 3]};
  }
  Problem problem(const ConvCase& shape, Types types, Tail tail) {
    return conv_problem(shape, {types.input, types.output, GetParam().strides}, tail, random_);
  }
  static cpu::Isa isa() { return GetParam().isa; }
  /// Checks the problem, if it is taken, with the first `most` configurations.
  bool run(const Problem& problem, std::size_t most = 1000) {
    const KernelCase test(problem, random_);
    if (cpu::strassen_refusal(problem, test.chain(), isa())) return false;
    const FlushDenormals flush;
    for (const cpu::StrassenConfig& config : cpu::strassen_configs(problem, test.chain(), isa())) {
      note(problem, test.chain(), config);
      EXPECT_TRUE(test.check(test.run(*cpu::strassen_recipe(problem, test.chain(), isa(), config))))
          << to_text(config) << " " << to_text(problem);
      if (--most == 0) break;
    }
    return true;
  }
  void note(const Problem& problem, const SplitChain& chain, const cpu::StrassenConfig& config) {
    const cpu::StrassenPlan plan =
        cpu::strassen_plan(cpu::conv1x1_shape(problem, chain, isa()), chain, config);
    const bool alike = plan.depth(0) == plan.depth(plan.sections() - 1);
    seen_.insert({plan.input, config.by_channel, plan.turned(), plan.finishes,
                  plan.sections() == 1 ? Depth::whole
                  : alike              ? Depth::alike
                                       : Depth::shorter_last});
  }
  bool is_dense() const {
    return GetParam().strides == Strides::channels_first ||
           GetParam().strides == Strides::channels_last;
  }

  /// What a plan is made of: all that occurs must have been checked.
  enum class Depth : std::uint8_t { whole, alike, shorter_last };  ///< its sections
  struct Kind {
    cpu::PairTileSpec::Input input;
    bool by_channel, turned, finishes;
    Depth depth;
    auto operator<=>(const Kind&) const = default;
  };
  std::set<Kind> seen_;
  Random random_{41};

 private:
  int number_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, StrassenConv,
                         ::testing::ValuesIn(on_vector_isas({Strides::channels_first,
                                                             Strides::channels_last,
                                                             Strides::padded, Strides::permuted})),
                         name_of_param);

Conv conv_of(int axes, std::int64_t stride) {
  Conv conv;
  conv.pad_lo.assign(static_cast<std::size_t>(axes), 0);
  conv.pad_hi = conv.pad_lo;
  conv.stride.assign(static_cast<std::size_t>(axes), stride);
  conv.dilation.assign(static_cast<std::size_t>(axes), 1);
  conv.groups = 1;
  return conv;
}

Conv conv_of(std::vector<std::int64_t> strides) {
  Conv conv = conv_of(static_cast<int>(strides.size()), 1);
  conv.stride.assign(strides.begin(), strides.end());
  return conv;
}

// Halves that divide nothing, odd ones among them, of pixels, input and output channels.
TEST_P(StrassenConv, OddShapes) {
  const ConvCase cases[] = {
      {{1, 2, 1, 2}, {2, 2, 1, 1}, conv_of(2, 1)},
      {{1, 1, 1, 1}, {2, 1, 1, 1}, conv_of(2, 1)},
      {{3, 5, 1, 1}, {70, 5, 1, 1}, conv_of(2, 1)},
      {{2, 33, 7, 7}, {36, 33, 1, 1}, conv_of(2, 1)},
      {{2, 34, 7, 7}, {35, 34, 1, 1}, conv_of(2, 1)},
      {{1, 256, 4, 6}, {24, 256, 1, 1}, conv_of(2, 1)},
      {{1, 18, 13, 16}, {150, 18, 1, 1}, conv_of(2, 1)},
      {{2, 20, 9, 14}, {40, 20, 1, 1}, conv_of(2, 2)},
      {{1, 66, 8, 7}, {47, 66, 1, 1}, conv_of(2, 3)},
      {{2, 6, 40}, {19, 6, 1}, conv_of(1, 1)},
      {{1, 515, 5, 4}, {34, 515, 1, 1}, conv_of(2, 1)},
      {{2, 771, 7, 6}, {20, 771, 1, 1}, conv_of(2, 2)},
      {{2, 20, 9, 14}, {40, 20, 1, 1}, conv_of({2, 1})},
      {{1, 21, 6, 13}, {38, 21, 1, 1}, conv_of({1, 3})},
      {{1, 9, 5, 4, 7}, {18, 9, 1, 1, 1}, conv_of({3, 1, 2})},
      {{1, 10, 3, 4, 5}, {26, 10, 1, 1, 1}, conv_of(3, 1)},
      {{2, 9, 5, 4, 7}, {18, 9, 1, 1, 1}, conv_of(3, 2)},
  };
  int taken = 0;
  for (const ConvCase& shape : cases)
    for (const Tail tail : kAllTails) taken += run(problem(shape, next_types(), tail), 8) ? 1 : 0;
  if (is_dense()) {
    EXPECT_GT(taken, 35);
  }
}

// Planes and pixels that follow one another with gaps, and images; and channels that lie so far
// apart that an instruction does not reach from one half to the other, which are staged.
class StrassenGaps : public StrassenConv {};
INSTANTIATE_TEST_SUITE_P(Outside, StrassenGaps,
                         ::testing::ValuesIn(on_vector_isas({Strides::padded})), name_of_param);
TEST_P(StrassenGaps, OutsideOfPlanes) {
  for (const char* text :
       {"f32:2x34x6x10:s4000,1,400,40;conv(f32:36x34x1x1);activation(relu)->f32:2x36x6x10:s3000,1,"
        "400,40",
        "f32:2x34x6x10:s3000,66,10,1;conv(f32:36x34x1x1);activation(relu)->f32:2x36x6x10:s4000,70,"
        "10,1",
        "f32:1x64x9x14:s999999,1024,14,1;conv(f32:70x64x1x1)->f32:1x70x9x14:s999999,1024,14,1",
        "f32:1x64x9x14:s999999,1,14336,1024;conv(f32:70x64x1x1)->f32:1x70x9x14:s999999,1,1344,"
        "96"}) {
    EXPECT_TRUE(run(parse_problem(text))) << text;
  }
}

TEST_P(StrassenGaps, HalvesBeyondReachAreStaged) {
  using Input = cpu::PairTileSpec::Input;
  const struct {
    const char* text;
    bool in_place;
  } cases[] = {
      {"f32:1x64x56x56;conv(f32:256x64x1x1)", true},
      {"f32:1x256x2048x2048;conv(f32:64x256x1x1)", false},
      {"f32:1x64x56x56:s1073741824,16777216,56,1;conv(f32:256x64x1x1)", false},
  };
  for (const auto& [text, in_place] : cases) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    ASSERT_FALSE(cpu::strassen_refusal(problem, chain, isa())) << text;
    const cpu::Conv1x1Shape shape = cpu::conv1x1_shape(problem, chain, isa());
    for (const bool by_channel : {false, true}) {
      cpu::StrassenConfig config;
      config.by_channel = by_channel;
      config.vectors = 1;
      config.block = 56;
      config.staged = false;
      const Input input = cpu::strassen_plan(shape, chain, config).input;
      EXPECT_EQ(input != Input::staged, in_place) << text;
    }
  }
  EXPECT_TRUE(cpu::strassen_refusal(parse_problem("f32:1x1048578x1x2;conv(f32:2x1048578x1x1)"),
                                    SplitChain{}, isa()));
}

TEST_P(StrassenConv, EveryConfiguration) {
  const ConvCase cases[] = {
      {{2, 22, 12, 13}, {70, 22, 1, 1}, conv_of(2, 1)},
      {{1, 256, 20, 24}, {152, 256, 1, 1}, conv_of(2, 1)},
      {{2, 18, 17, 15}, {92, 18, 1, 1}, conv_of(2, 2)},
      {{1, 64, 9, 7}, {64, 64, 1, 1}, conv_of(2, 1)},
      {{2, 524, 6, 8}, {70, 524, 1, 1}, conv_of(2, 1)},
      {{1, 768, 5, 6}, {50, 768, 1, 1}, conv_of(2, 1)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : {Tail::bias_norm_relu, Tail::gelu_add_mish})
      for (const DType type : {DType::f32, DType::f16})
        run(problem(shape, {type, DType::f32}, tail));
  if (GetParam().strides == Strides::channels_first) {
    EXPECT_EQ(seen_.size(), 18U);
  }
  if (GetParam().strides == Strides::channels_last) {
    EXPECT_EQ(seen_.size(), 12U);
  }
}

TEST_P(StrassenConv, SameBitsForAnyThreadCount) {
  const ConvCase cases[] = {
      {{3, 40, 31, 34}, {70, 40, 1, 1}, conv_of(2, 1)},
      {{1, 300, 20, 20}, {200, 300, 1, 1}, conv_of(2, 2)},
      {{1, 512, 3, 5}, {900, 512, 1, 1}, conv_of(2, 1)},
      {{1, 600, 12, 13}, {600, 600, 1, 1}, conv_of(2, 1)},
      {{2, 530, 6, 8}, {70, 530, 1, 1}, conv_of(2, 1)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : {Tail::bias_norm_relu, Tail::add_gelu}) {
      const Problem problem = this->problem(shape, next_types(), tail);
      const KernelCase test(problem, random_);
      if (cpu::strassen_refusal(problem, test.chain(), isa())) continue;
      for (const cpu::StrassenConfig& config :
           cpu::strassen_configs(problem, test.chain(), isa())) {
        const auto recipe = cpu::strassen_recipe(problem, test.chain(), isa(), config);
        const std::vector<double> one = test.run(*recipe, 1).values();
        for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
      }
    }
}

TEST_P(StrassenConv, NothingOutsideTheTensorsIsTouched) {
  const ConvCase cases[] = {
      {{1, 34, 7, 7}, {36, 34, 1, 1}, conv_of(2, 1)},
      {{2, 6, 6, 10}, {19, 6, 1, 1}, conv_of(2, 1)},
      {{1, 33, 9, 9}, {18, 33, 1, 1}, conv_of(2, 2)},
      {{1, 10, 33, 36}, {74, 10, 1, 1}, conv_of(2, 1)},
      {{1, 70, 5, 6}, {64, 70, 1, 1}, conv_of(2, 1)},
      {{1, 514, 5, 6}, {36, 514, 1, 1}, conv_of(2, 1)},
  };
  for (const ConvCase& shape : cases)
    for (const Tail tail : kAllTails)
      for (const Types types : {Types{DType::f32, DType::f32}, Types{DType::f32, DType::f16},
                                Types{DType::f16, DType::bf16}, Types{DType::bf16, DType::f32}})
        for (const End end : {End::front, End::back}) {
          const Problem problem = this->problem(shape, types, tail);
          const SplitChain chain = optimize(lower(problem), {});
          if (cpu::strassen_refusal(problem, chain, isa())) continue;
          const auto configs = cpu::strassen_configs(problem, chain, isa());
          for (std::size_t i = 0; i < configs.size(); i += 3)
            run_guarded(problem, chain, *cpu::strassen_recipe(problem, chain, isa(), configs[i]),
                        end);
        }
}

}  // namespace
}  // namespace fuseplan::test
