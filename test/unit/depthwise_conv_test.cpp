// SPDX-License-Identifier: MIT
#include "kernel_case.hpp"
#include "kernels/cpu/depthwise/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

std::vector<Isa> vector_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::avx2, Isa::avx512})
    if (isa <= cpu::host_isa()) isas.push_back(isa);
  return isas;
}

ConvCase depthwise(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t r,
                   std::int64_t s, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1,
                   std::int64_t multiplier = 1) {
  return {{n, c, h, w},
          {c * multiplier, 1, r, s},
          {{pad, pad}, {pad, pad}, {stride, stride}, {dilation, dilation}, c}};
}

const ConvCase kCases[] = {
    depthwise(1, 37, 15, 15, 5, 5, 2, 2),
    depthwise(2, 16, 14, 14, 3, 3, 1, 1),
    depthwise(1, 40, 7, 7, 3, 3, 1, 1),
    depthwise(1, 33, 28, 29, 3, 3, 2, 1),
    depthwise(1, 3, 5, 131, 3, 3, 1, 1),
    depthwise(1, 5, 40, 70, 3, 7, 1, 3),
    depthwise(1, 19, 11, 13, 3, 3, 1, 2, 2),
    depthwise(1, 6, 21, 21, 3, 3, 1, 3, 3),
    depthwise(1, 17, 9, 9, 3, 3, 1, 4),
    depthwise(1, 9, 23, 23, 2, 2, 3, 0),
    depthwise(2, 4, 30, 31, 4, 4, 3, 2),
    depthwise(9, 2, 6, 7, 3, 3, 2, 1),
    depthwise(1, 70, 1, 1, 1, 1, 1, 0),
    depthwise(1, 2, 64, 64, 11, 11, 1, 5),
    depthwise(1, 130, 12, 12, 1, 1, 2, 0),
    depthwise(1, 8, 1, 200, 1, 3, 2, 0),
    {{1, 12, 14, 15}, {12, 1, 3, 4}, {{0, 2}, {2, 1}, {1, 2}, {1, 1}, 12}},
    {{1, 20, 3, 9, 8}, {20, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 2}, {2, 1, 1}, 20}},
    {{2, 7, 60}, {7, 1, 5}, {{2}, {2}, {1}, {1}, 7}},
};

class Depthwise : public ::testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isa, Depthwise, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return cpu::name_of(info.param); });

void expect_right(const Problem& problem, Isa isa, Random& random) {
  const KernelCase test(problem, random);
  const auto refusal = cpu::depthwise_refusal(problem, test.chain(), isa);
  ASSERT_FALSE(refusal) << *refusal << to_text(problem);
  EXPECT_TRUE(test.check(test.run(*cpu::depthwise_recipe(problem, test.chain(), isa))));
}

TEST_P(Depthwise, Shapes) {
  const Isa isa = GetParam();
  const Strides strides = Strides::channels_first;
  Random random(41);
  int number = 0;
  for (const ConvCase& shape : kCases)
    for (Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      ++number;
      SCOPED_TRACE(number);
      expect_right(conv_problem(shape, {in, out, strides}, tail, random), isa, random);
    }
}

TEST_P(Depthwise, EveryTypeOnOneShape) {
  const Isa isa = GetParam();
  const Strides strides = Strides::channels_first;
  Random random(42);
  for (DType in : kTypes)
    for (DType out : kTypes)
      for (std::int64_t stride : {1, 2, 3})
        expect_right(conv_problem(depthwise(1, 21, 19, 35, 3, 3, stride, 1), {in, out, strides},
                                  Tail::bias_norm_relu, random),
                     isa, random);
}

TEST_P(Depthwise, Bytes) {
  Random random(48);
  std::vector<ConvCase> cases(std::begin(kCases), std::end(kCases));
  for (std::int64_t stride : {1, 2, 3})
    cases.push_back(depthwise(2, 12, 14, 14, 3, 3, stride, 1, 1, 3));
  for (const ConvCase& shape : cases)
    for (DType in : {DType::u8, DType::i8})
      for (DType out : {DType::u8, DType::i8, DType::f32, DType::f16})
        for (Tail tail : {Tail::none, Tail::requantise, Tail::everything})
          expect_right(conv_problem(shape, {in, out, Strides::channels_first}, tail, random),
                       GetParam(), random);
}

TEST_P(Depthwise, SameBitsForAnyThreadCount) {
  const Isa isa = GetParam();
  const Strides strides = Strides::channels_first;
  Random random(43);
  const Problem problem = conv_problem(depthwise(3, 45, 30, 30, 3, 3, 1, 1),
                                       {DType::f32, DType::f32, strides}, Tail::everything, random);
  const KernelCase test(problem, random);
  const auto recipe = cpu::depthwise_recipe(problem, test.chain(), isa);
  const std::vector<double> one = test.run(*recipe, 1).values();
  for (int threads : {2, 5}) EXPECT_EQ(one, test.run(*recipe, threads).values());
}

TEST_P(Depthwise, SeveralOutputsOfOneChannel) {
  Random random(44);
  for (std::int64_t stride : {1, 2, 3})
    for (DType type : kTypes)
      expect_right(conv_problem(depthwise(2, 12, 14, 14, 3, 3, stride, 1, 1, 3),
                                {type, type, Strides::channels_first}, Tail::everything, random),
                   GetParam(), random);
}

// Strides of which only the one along the lanes is 1; elements with other strides than the output.
TEST_P(Depthwise, GapsBetweenRowsAndImages) {
  Random random(45);
  for (DType type : kTypes) {
    const fuseplan::Dims lens{2, 18, 13, 17}, filter{18, 1, 3, 3};
    const auto gappy = [&](const fuseplan::Dims& dims) {
      const Dims plain{dims.begin(), dims.end()};
      const Dims strides = strides_in_order(plain, Dims{0, 1, 2, 3}, &random);
      return Tensor{type, dims, fuseplan::Dims(strides.begin(), strides.end())};
    };
    const Conv conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 18};
    fuseplan::Dims image = lens;
    image[0] = 1;
    const Problem problem(gappy(lens),
                          {{ConvOp{conv, gappy(filter)}, {}},
                           {AddOp{gappy(lens)}, {}},
                           {NormOp{NormMode::per_activation, gappy(image)}, {}},
                           {ActivationOp{fuseplan::Activation::RELU}, {true, true}}},
                          gappy(lens));
    expect_right(problem, GetParam(), random);
  }
}

// A weight that is infinite must not turn into NaN where its tap falls on padding.
TEST_P(Depthwise, PaddingTakesNoPart) {
  Random random(46);
  for (std::int64_t stride : {1, 2, 3}) {
    const Problem problem =
        conv_problem(depthwise(1, 18, 9, 21, 3, 3, stride, 1),
                     {DType::f32, DType::f32, Strides::channels_first}, Tail::none, random);
    KernelCase test(problem, random);
    test.set_weight({5, 0, 0, 0}, std::numeric_limits<double>::infinity());
    test.set_weight({17, 0, 2, 2}, -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(test.check(test.run(*cpu::depthwise_recipe(problem, test.chain(), GetParam()))));
  }
}

TEST(DepthwiseRefusal, SaysWhy) {
  Random random(47);
  const auto reason = [&](const ConvCase& shape, Strides strides, Isa isa) {
    const Problem problem =
        conv_problem(shape, {DType::f32, DType::f32, strides}, Tail::none, random);
    return cpu::depthwise_refusal(problem, optimize(lower(problem), {}), isa).value_or("");
  };
  const ConvCase plain = depthwise(1, 8, 9, 9, 3, 3, 1, 1);
  ConvCase grouped = plain;
  grouped.filter[1] = 2;
  grouped.conv.groups = 4;
  EXPECT_EQ(reason(plain, Strides::channels_first, Isa::avx2), "");
  EXPECT_NE(reason(plain, Strides::channels_first, Isa::portable), "");
  EXPECT_NE(reason(grouped, Strides::channels_first, Isa::avx2).find("2 input channels"),
            std::string::npos);
  EXPECT_NE(reason(plain, Strides::channels_last, Isa::avx2).find("contiguous"), std::string::npos);
}

}  // namespace
}  // namespace fuseplan::test
