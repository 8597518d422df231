// SPDX-License-Identifier: MIT
// Convolutions of one group with few channels, in NCHW: columns in lanes.
#include <gtest/gtest.h>

#include <limits>

#include "base/denormals.hpp"
#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/grouped/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;

ConvCase one_group(const fuseplan::Dims& input, const fuseplan::Dims& weights, std::int64_t stride,
                   std::int64_t pad) {
  const std::size_t axes = input.size() - 2;
  const auto all = [&](std::int64_t value) { return fuseplan::Dims(axes, value); };
  return {input, weights, {all(pad), all(pad), all(stride), all(1)}};
}

const ConvCase kFewOutputs[] = {
    one_group({1, 64, 9, 21}, {1, 64, 3, 3}, 1, 1),
    one_group({2, 19, 17, 33}, {2, 19, 3, 3}, 1, 1),
    one_group({1, 128, 5, 16}, {3, 128, 5, 5}, 1, 2),
    one_group({1, 9, 40, 70}, {4, 9, 7, 3}, 1, 3),
    one_group({1, 5, 33, 35}, {3, 5, 3, 3}, 2, 1),
    one_group({3, 2, 23, 37}, {1, 2, 4, 2}, 1, 0),
    one_group({1, 18, 50}, {2, 18, 9}, 1, 4),
    one_group({1, 6, 4, 9, 18}, {3, 6, 3, 3, 3}, 1, 1),
    one_group({1, 70, 3, 6, 17}, {2, 70, 2, 3, 3}, 1, 1),
    one_group({1, 3, 11, 19}, {3, 3, 9, 9}, 1, 4),
    one_group({1, 11, 12, 37}, {8, 11, 3, 3}, 1, 1),
    one_group({1, 7, 23, 41}, {6, 7, 3, 3}, 2, 1),
    one_group({1, 13, 9, 35}, {5, 13, 3, 3}, 1, 1),
};
const ConvCase kFewInputs[] = {
    one_group({1, 3, 19, 23}, {64, 3, 3, 3}, 1, 1),
    one_group({2, 2, 13, 40}, {21, 2, 5, 5}, 1, 2),
    one_group({1, 3, 35, 37}, {12, 3, 3, 3}, 2, 1),
    one_group({1, 3, 9, 16}, {10, 3, 5, 5}, 1, 2),
    one_group({1, 2, 1, 100}, {66, 2, 1, 25}, 1, 0),
    one_group({1, 3, 18, 33}, {32, 3, 2, 2}, 2, 0),
    one_group({1, 3, 40}, {18, 3, 8}, 1, 3),
    one_group({1, 3, 3, 8, 19}, {9, 3, 1, 3, 3}, 1, 1),
};
const ConvCase kFourInputs = one_group({1, 4, 14, 35}, {20, 4, 3, 3}, 1, 1);  // AVX-512

std::vector<ConvCase> cases_of(Isa isa) {
  std::vector<ConvCase> cases(std::begin(kFewOutputs), std::end(kFewOutputs));
  cases.insert(cases.end(), std::begin(kFewInputs), std::end(kFewInputs));
  if (isa == Isa::avx512) cases.push_back(kFourInputs);
  return cases;
}

class OneGroup : public ::testing::TestWithParam<Isa> {
 protected:
  static Problem problem_of(const ConvCase& shape, DType in, DType out, Tail tail, Random& random) {
    return conv_problem(shape, {in, out, Strides::channels_first}, tail, random);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, OneGroup, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(OneGroup, ShapesTypesAndConfigurations) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
  constexpr DType kOutputs[] = {DType::f32, DType::u8, DType::bf16, DType::f16, DType::i8};
  Random random(61);
  int number = 0;
  for (const ConvCase& shape : cases_of(GetParam()))
    for (const Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      const Problem problem =
          problem_of(shape, kTypes[number % 3], kOutputs[number % 5], tail, random);
      SCOPED_TRACE(to_text(problem) + " at " + std::string(name_of(GetParam())));
      const KernelCase test(problem, random);
      const auto refusal = cpu::grouped_refusal(problem, test.chain(), GetParam());
      ASSERT_FALSE(refusal) << *refusal;
      const FlushDenormals flush;
      auto configs = cpu::grouped_configs(problem, test.chain(), GetParam());
      ASSERT_FALSE(configs.empty());
      if (++number % 5 != 1) configs.resize(1);
      for (const cpu::GroupedConfig& config : configs) {
        const auto recipe = cpu::grouped_recipe(problem, test.chain(), GetParam(), config);
        const HostTensor one = test.run(*recipe, 1);
        EXPECT_TRUE(test.check(one)) << to_text(config);
        EXPECT_EQ(one.values(), test.run(*recipe, 3).values()) << to_text(config);
      }
    }
}

TEST_P(OneGroup, NothingOutsideTheTensorsIsTouched) {
  Random random(62);
  for (const ConvCase& shape : cases_of(GetParam()))
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const Problem problem = problem_of(shape, type, type, Tail::everything, random);
      const SplitChain chain = optimize(lower(problem), {});
      const auto config = cpu::grouped_configs(problem, chain, GetParam()).front();
      for (const End end : {End::front, End::back})
        run_guarded(problem, chain, *cpu::grouped_recipe(problem, chain, GetParam(), config), end);
    }
}

// Such chains need the mask registers that the borders would like to keep.
TEST_P(OneGroup, ChainsThatCompareMoreThanOnce) {
  Random random(64);
  for (const ConvCase& shape : cases_of(GetParam())) {
    const Problem plain = problem_of(shape, DType::f32, DType::f32, Tail::none, random);
    const Problem problem(plain.input(),
                          {plain.ops().front(), {ActivationOp{fuseplan::Activation::POWER}, {}}},
                          plain.output());
    const KernelCase test(problem, random);
    const FlushDenormals flush;
    const auto config = cpu::grouped_configs(problem, test.chain(), GetParam()).front();
    EXPECT_TRUE(
        test.check(test.run(*cpu::grouped_recipe(problem, test.chain(), GetParam(), config))))
        << to_text(problem);
  }
}

// A weight that is infinite must not turn into NaN where its tap falls on padding.
TEST_P(OneGroup, PaddingTakesNoPart) {
  Random random(63);
  const Problem problem = problem_of(one_group({1, 3, 9, 21}, {4, 3, 3, 3}, 1, 1), DType::f32,
                                     DType::f32, Tail::none, random);
  KernelCase test(problem, random);
  test.set_weight({1, 0, 0, 0}, std::numeric_limits<double>::infinity());
  test.set_weight({3, 2, 2, 2}, -std::numeric_limits<double>::infinity());
  for (const auto& config : cpu::grouped_configs(problem, test.chain(), GetParam()))
    EXPECT_TRUE(
        test.check(test.run(*cpu::grouped_recipe(problem, test.chain(), GetParam(), config))));
}

TEST(OneGroupRefusal, LeavesToOthersWhatTheyDoBetter) {
  const auto reason = [](const char* text, const cpu::Target& target) {
    const Problem problem = parse_problem(text);
    return cpu::grouped_refusal(problem, optimize(lower(problem), {}), target).value_or("");
  };
  constexpr const char* kFew = "f32:1x64x20x20:nchw;conv(f32:3x64x3x3,pad=1x1)";
  constexpr const char* kStem = "f32:1x3x20x20:nchw;conv(f32:64x3x3x3,pad=1x1)";
  const cpu::Target tiles{Isa::avx512, cpu::Extensions{.tiles_bf16 = true}};
  EXPECT_EQ(reason(kFew, Isa::avx2), "");
  EXPECT_EQ(reason(kFew, Isa::avx512), "");
  EXPECT_EQ(reason(kStem, Isa::avx2), "");
  EXPECT_EQ(reason(kStem, Isa::avx512), "");
  EXPECT_NE(reason("f32:1x300x8x512x512:nchw;conv(f32:1x300x3x3x3,pad=1x1x1)", Isa::avx2)
                .find("reach further"),
            std::string::npos);
  const cpu::Target pairs{Isa::avx512, cpu::Extensions{.bf16 = true, .fast_bf16 = true}};
  EXPECT_EQ(reason(kFew, tiles), "");
  EXPECT_EQ(reason(kStem, tiles), "");
  EXPECT_EQ(reason("f16:1x3x20x20:nchw;conv(f16:64x3x3x3,pad=1x1)", tiles), "");
  EXPECT_EQ(reason("bf16:1x64x20x20:nchw;conv(bf16:4x64x3x3,pad=1x1)", pairs), "");
  EXPECT_EQ(reason("bf16:1x64x20x20:nchw;conv(bf16:1x64x3x3,pad=1x1)", tiles), "");
  EXPECT_EQ(reason("bf16:1x64x20x40:nchw;conv(bf16:6x64x3x3,pad=1x1,stride=2x2)", tiles), "");
  const struct {
    const char* text;
    cpu::Target target;
  } kOthers[] = {
      {"bf16:1x64x20x20:nchw;conv(bf16:3x64x3x3,pad=1x1)", tiles},
      {"bf16:1x3x20x20:nchw;conv(bf16:64x3x3x3,pad=1x1)", tiles},
      {"bf16:1x64x20x40:nchw;conv(bf16:9x64x3x3,pad=1x1,stride=2x2)", tiles},
      {"f16:1x64x20x20:nchw;conv(f16:6x64x3x3,pad=1x1)", tiles},
      {"u8:1x64x20x40:nchw;conv(i8:1x64x3x3,pad=1x1,stride=2x2)", tiles},
      {"bf16:1x64x20x20:nchw;conv(bf16:6x64x3x3,pad=1x1)", pairs},
      {"bf16:1x3x20x20:nchw;conv(bf16:64x3x3x3,pad=1x1)", pairs},
      {"f32:1x2x60x60:nchw;conv(f32:1x2x13x13,pad=6x6)", Isa::avx2},
      {"f32:1x5x20x20:nchw;conv(f32:64x5x3x3,pad=1x1)", Isa::avx512},
      {"f32:1x64x20x20:nhwc;conv(f32:3x64x3x3:nhwc,pad=1x1)->f32:1x3x20x20:nhwc", Isa::avx2},
      {"f32:1x64x20x20:nchw;conv(f32:9x64x3x3,pad=1x1)", Isa::avx2},
      {"f32:1x64x20x20:nchw;conv(f32:9x64x3x3,pad=1x1)", Isa::avx512},
      {"f32:1x64x20x20:nchw;conv(f32:3x64x1x1)", Isa::avx2},
      {"f32:1x64x20x7:nchw;conv(f32:3x64x3x3,pad=1x1)", Isa::avx2},
      {"f32:1x3x40x40:nchw;conv(f32:64x3x7x7,pad=3x3)", Isa::avx2},
      {"f32:1x3x40x40:nchw;conv(f32:64x3x4x4,stride=2x2)", Isa::avx2},
      {"f32:1x4x40x40:nchw;conv(f32:64x4x3x3,pad=1x1)", Isa::avx2},
  };
  for (const auto& other : kOthers)
    EXPECT_NE(reason(other.text, other.target).find("one group of"), std::string::npos)
        << other.text << " on " << name_of(other.target);
}

}  // namespace
}  // namespace fuseplan::test
