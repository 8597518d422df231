// SPDX-License-Identifier: MIT
#include <limits>

#include "base/saturate.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/portable/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Strides kAllStrides[] = {Strides::channels_first, Strides::channels_last, Strides::padded,
                                   Strides::permuted};

void expect_right(const Problem& problem, Random& random) {
  const KernelCase test(problem, random);
  EXPECT_TRUE(test.check(test.run(*cpu::portable_recipe(problem, test.chain()), 3)));
}

class PortableBytes : public ::testing::TestWithParam<Strides> {};
INSTANTIATE_TEST_SUITE_P(Strides, PortableBytes, ::testing::ValuesIn(kAllStrides),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(PortableBytes, Oddities) {
  constexpr DType kOutputs[] = {DType::u8, DType::i8, DType::f32, DType::f16};
  Random random(21);
  int number = 0;
  for (const ConvProblem& row : read_conv_problems("oddities.csv"))
    for (Tail tail : {Tail::none, Tail::requantise, Tail::everything}) {
      SCOPED_TRACE(row.name);
      const DType in = number % 2 == 0 ? DType::u8 : DType::i8, out = kOutputs[number / 2 % 4];
      ++number;
      expect_right(conv_problem(conv_case(row), {in, out, GetParam()}, tail, random), random);
    }
}

TEST_P(PortableBytes, OneAndThreeSpatialAxesAndManyCells) {
  const ConvCase cases[] = {
      {{2, 5, 40}, {9, 5, 3}, {{1}, {2}, {2}, {1}, 1}},
      {{1, 4, 5, 9, 7}, {10, 4, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {1, 2, 1}, {1, 1, 2}, 1}},
      {{2, 6, 4, 6, 6}, {12, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {2, 1, 1}, {1, 1, 1}, 6}},
      {{1, 100, 60, 70}, {9, 100, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 16, 3, 2500}, {3, 16, 2, 5}, {{1, 3}, {0, 1}, {1, 2}, {1, 3}, 1}},
  };
  Random random(22);
  for (const ConvCase& shape : cases)
    for (DType in : {DType::i8, DType::u8})
      expect_right(conv_problem(shape, {in, DType::u8, GetParam()}, Tail::requantise, random),
                   random);
}

TEST(Saturate, RoundsToEvenAndStopsAtTheEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr struct {
    float value;
    int i8, u8;
  } kCases[] = {
      {0, 0, 0},          {-0.5f, 0, 0},      {0.5f, 0, 0},          {1.5f, 2, 2},
      {2.5f, 2, 2},       {-1.5f, -2, 0},     {126.5f, 126, 126},    {127.5f, 127, 128},
      {254.5f, 127, 254}, {255.5f, 127, 255}, {-127.5f, -128, 0},    {-129, -128, 0},
      {3e9f, 127, 255},   {-3e9f, -128, 0},   {kInfinity, 127, 255}, {-kInfinity, -128, 0},
      {kNan, -128, 0},    {-kNan, -128, 0},   {0.50001f, 1, 1},      {1e-40f, 0, 0}};
  for (const auto& row : kCases) {
    EXPECT_EQ(saturate<std::int8_t>(row.value), row.i8) << row.value;
    EXPECT_EQ(saturate<std::uint8_t>(row.value), row.u8) << row.value;
  }
}

}  // namespace
}  // namespace fuseplan::test
