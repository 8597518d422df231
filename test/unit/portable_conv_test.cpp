// SPDX-License-Identifier: MIT
#include "kernel_case.hpp"
#include "kernels/cpu/portable/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Strides kAllStrides[] = {Strides::channels_first, Strides::channels_last, Strides::padded,
                                   Strides::permuted};
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

void expect_right(const Problem& problem, Random& random) {
  const KernelCase test(problem, random);
  EXPECT_TRUE(test.check(test.run(*cpu::portable_recipe(problem, test.chain()))));
}

class PortableConv : public ::testing::TestWithParam<Strides> {};
INSTANTIATE_TEST_SUITE_P(Strides, PortableConv, ::testing::ValuesIn(kAllStrides),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(PortableConv, Oddities) {
  Random random(11);
  int number = 0;
  for (const ConvProblem& row : read_conv_problems("oddities.csv"))
    for (Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      SCOPED_TRACE(row.name);
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      ++number;
      expect_right(conv_problem(conv_case(row), {in, out, GetParam()}, tail, random), random);
    }
}

TEST_P(PortableConv, OneAndThreeSpatialAxes) {
  const ConvCase cases[] = {
      {{2, 5, 40}, {9, 5, 3}, {{1}, {2}, {2}, {1}, 1}},
      {{1, 8, 130}, {8, 1, 5}, {{4}, {4}, {1}, {2}, 8}},
      {{1, 4, 5, 9, 7}, {10, 4, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {1, 2, 1}, {1, 1, 2}, 1}},
      {{2, 6, 4, 6, 6}, {12, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {2, 1, 1}, {1, 1, 1}, 6}},
      {{1, 10, 3, 4, 5}, {6, 5, 1, 1, 1}, {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 2}},
  };
  Random random(12);
  for (const ConvCase& shape : cases)
    for (DType type : kTypes)
      expect_right(conv_problem(shape, {type, DType::f32, GetParam()}, Tail::everything, random),
                   random);
}

// Images too large for one cell, and rows too long for one segment.
TEST_P(PortableConv, ManyCells) {
  const ConvCase cases[] = {
      {{1, 64, 40, 50}, {9, 64, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 100, 30, 40}, {9, 100, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 16, 3, 2000}, {3, 16, 2, 5}, {{1, 3}, {0, 1}, {1, 2}, {1, 3}, 1}},
  };
  Random random(13);
  for (const ConvCase& shape : cases)
    for (DType type : {DType::f32, DType::bf16})
      expect_right(conv_problem(shape, {type, type, GetParam()}, Tail::bias_norm_relu, random),
                   random);
}

TEST_P(PortableConv, SameBitsForAnyThreadCount) {
  Random random(14);
  for (const char* name : {"prime", "depthwise_mult", "n0_batch31"})
    for (const ConvProblem& row : read_conv_problems("oddities.csv")) {
      if (row.name != name) continue;
      const Problem problem = conv_problem(conv_case(row), {DType::f32, DType::f32, GetParam()},
                                           Tail::everything, random);
      const KernelCase test(problem, random);
      const auto recipe = cpu::portable_recipe(problem, test.chain());
      const std::vector<double> one = test.run(*recipe, 1).values();
      for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values()) << name;
    }
}

}  // namespace
}  // namespace fuseplan::test
