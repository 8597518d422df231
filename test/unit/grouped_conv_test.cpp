// SPDX-License-Identifier: MIT
#include <limits>

#include "base/denormals.hpp"
#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/grouped/recipe.hpp"
#include "kernels/cpu/grouped/tile_kernel.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

struct Groups {
  std::int64_t count, inputs, outputs;
};
struct Window {
  std::int64_t height, width, stride, pad, dilation;
};

ConvCase grouped(std::int64_t n, std::int64_t h, std::int64_t w, Groups groups, Window window) {
  return {{n, groups.count * groups.inputs, h, w},
          {groups.count * groups.outputs, groups.inputs, window.height, window.width},
          {{window.pad, window.pad},
           {window.pad, window.pad},
           {window.stride, window.stride},
           {window.dilation, window.dilation},
           groups.count}};
}

constexpr Window k3x3{3, 3, 1, 1, 1}, k3x3s2{3, 3, 2, 1, 1};

const ConvCase kCases[] = {
    grouped(2, 14, 14, {16, 1, 1}, k3x3),
    grouped(1, 7, 7, {40, 1, 1}, k3x3),
    grouped(1, 15, 15, {37, 1, 1}, {5, 5, 2, 2, 1}),
    grouped(1, 28, 29, {33, 1, 1}, k3x3s2),
    grouped(1, 5, 131, {3, 1, 1}, k3x3),
    grouped(1, 9, 45, {32, 1, 1}, k3x3),
    grouped(1, 11, 91, {16, 1, 1}, k3x3s2),
    grouped(1, 7, 62, {48, 1, 1}, {3, 3, 1, 3, 3}),
    grouped(1, 40, 70, {5, 1, 1}, {3, 7, 1, 3, 1}),
    grouped(1, 11, 13, {19, 1, 1}, {3, 3, 1, 2, 2}),
    grouped(1, 21, 21, {6, 1, 1}, {3, 3, 1, 3, 3}),
    grouped(1, 22, 23, {6, 1, 1}, {3, 3, 2, 3, 3}),
    grouped(1, 9, 9, {17, 1, 1}, {3, 3, 1, 4, 1}),
    grouped(1, 1, 1, {70, 1, 1}, {1, 1, 1, 0, 1}),
    grouped(1, 64, 64, {2, 1, 1}, {11, 11, 1, 5, 1}),
    grouped(1, 9, 11, {9, 1, 1}, {31, 31, 1, 15, 1}),
    grouped(1, 56, 57, {2, 1, 1}, {7, 7, 2, 3, 1}),
    grouped(1, 12, 12, {130, 1, 1}, {1, 1, 2, 0, 1}),
    grouped(1, 14, 14, {12, 1, 3}, k3x3),
    grouped(1, 9, 40, {9, 1, 4}, k3x3s2),
    grouped(1, 9, 9, {2, 1, 32}, k3x3),
    grouped(2, 9, 10, {8, 4, 4}, k3x3),
    grouped(1, 17, 34, {6, 8, 8}, k3x3),
    grouped(1, 15, 16, {5, 3, 3}, k3x3s2),
    grouped(1, 8, 8, {3, 16, 2}, k3x3),
    grouped(1, 6, 6, {3, 2, 7}, {2, 2, 1, 1, 1}),
    grouped(1, 10, 10, {2, 5, 16}, {1, 1, 1, 0, 1}),
    grouped(3, 1, 200, {4, 2, 2}, {1, 3, 2, 0, 1}),
    {{1, 32, 13, 1}, {32, 1, 3, 1}, {{1, 0}, {1, 0}, {1, 1}, {1, 1}, 32}},
    {{1, 17, 12, 15}, {17, 1, 3, 3}, {{0, 1}, {1, 1}, {1, 1}, {1, 1}, 17}},
    {{1, 12, 14, 15}, {12, 1, 3, 4}, {{0, 2}, {2, 1}, {1, 2}, {1, 1}, 12}},
    {{1, 20, 3, 9, 8}, {20, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 2}, {2, 1, 1}, 20}},
    {{1, 12, 5, 6, 19}, {18, 4, 3, 3, 2}, {{3, 1, 0}, {2, 1, 1}, {2, 1, 1}, {1, 1, 2}, 3}},
    {{2, 7, 60}, {7, 1, 5}, {{2}, {2}, {1}, {1}, 7}},
    {{2, 24, 13, 15}, {24, 4, 3, 3}, {{1, 0}, {1, 2}, {1, 1}, {1, 1}, 6}},
    {{1, 40, 11, 14}, {40, 2, 3, 2}, {{1, 1}, {0, 1}, {2, 1}, {1, 2}, 20}},
    {{1, 16, 3, 7, 9}, {16, 4, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}, 4}},
};

class Grouped : public ::testing::TestWithParam<std::tuple<Isa, Strides>> {
 protected:
  // On AVX2 the family takes columns in lanes, and channels of groups that permutations of whole
  // vectors can serve.
  static bool is_taken(const Problem& problem) {
    const auto [isa, strides] = GetParam();
    const auto& weights = problem.conv()->weights.lens;
    if (strides == Strides::channels_first) return problem.conv()->conv.stride.back() <= 2;
    const std::int64_t inputs = weights[1], outputs = weights[0] / problem.conv()->conv.groups;
    const bool whole = (inputs == 2 || inputs == 4) && weights[0] % 8 == 0;
    return isa == Isa::avx512 || (inputs == outputs && (inputs == 1 || whole));
  }
};
INSTANTIATE_TEST_SUITE_P(IsaAndLayout, Grouped,
                         ::testing::Combine(::testing::ValuesIn(vector_isas()),
                                            ::testing::Values(Strides::channels_first,
                                                              Strides::channels_last)),
                         [](const auto& info) {
                           return std::string(cpu::name_of(std::get<0>(info.param))) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

void expect_right(const Problem& problem, const cpu::Target& target, Random& random,
                  bool all_configs = false) {
  const KernelCase test(problem, random);
  const auto refusal = cpu::grouped_refusal(problem, test.chain(), target);
  ASSERT_FALSE(refusal) << *refusal << to_text(problem);
  const FlushDenormals flush;
  const auto configs = cpu::grouped_configs(problem, test.chain(), target);
  ASSERT_FALSE(configs.empty()) << to_text(problem);
  for (cpu::GroupedConfig config : configs)
    for (bool ahead : {true, false}) {
      config.ahead = ahead;
      EXPECT_TRUE(test.check(test.run(*cpu::grouped_recipe(problem, test.chain(), target, config))))
          << to_text(config) << " on " << name_of(target);
      if (!all_configs) return;
    }
}

TEST_P(Grouped, Shapes) {
  const auto [isa, strides] = GetParam();
  Random random(51);
  int number = 0;
  for (const ConvCase& shape : kCases)
    for (Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      SCOPED_TRACE(++number);
      const Problem problem = conv_problem(shape, {in, out, strides}, tail, random);
      if (is_taken(problem)) expect_right(problem, isa, random, number % 5 == 1);
    }
}

TEST_P(Grouped, EveryTypeOnOneShape) {
  const auto [isa, strides] = GetParam();
  Random random(52);
  for (DType in : kTypes)
    for (DType out : kTypes)
      for (Window window : {k3x3, k3x3s2})
        for (Groups groups : {Groups{21, 1, 1}, Groups{6, 4, 4}}) {
          const Problem problem = conv_problem(grouped(1, 19, 35, groups, window),
                                               {in, out, strides}, Tail::bias_norm_relu, random);
          if (!is_taken(problem)) continue;
          for (const cpu::Target& target : vector_targets())
            if (target.isa == isa) expect_right(problem, target, random);
        }
}

TEST_P(Grouped, Bytes) {
  const auto [isa, strides] = GetParam();
  constexpr DType kOutputs[] = {DType::u8, DType::i8, DType::f32, DType::bf16};
  Random random(59);
  std::size_t number = 0;
  for (const ConvCase& shape : kCases) {
    for (Tail tail : {Tail::none, Tail::requantise, Tail::bias_norm_relu, Tail::everything}) {
      // Each tail meets each pair of types: they move by one case and by four.
      const std::size_t row = number++ / 4;
      SCOPED_TRACE(number);
      const DType in = row / 4 % 2 == 0 ? DType::u8 : DType::i8;
      const DType out = kOutputs[(number + row) % 4];
      const Problem problem = conv_problem(shape, {in, out, strides}, tail, random);
      if (is_taken(problem)) expect_right(problem, isa, random, number % 5 == 1);
    }
  }
}

// Several bands of rows, which tiles do not divide, and an output that every row reads first.
TEST_P(Grouped, SameBitsForAnyThreadCount) {
  const auto [isa, strides] = GetParam();
  Random random(53);
  const ConvCase shape = strides == Strides::channels_last ? grouped(2, 31, 64, {72, 1, 1}, k3x3)
                                                           : grouped(1, 307, 231, {2, 1, 1}, k3x3);
  const Problem problem =
      conv_problem(shape, {DType::f32, DType::f32, strides}, Tail::everything, random);
  if (!is_taken(problem)) return;
  const KernelCase test(problem, random);
  for (const cpu::GroupedConfig& config : cpu::grouped_configs(problem, test.chain(), isa)) {
    const auto recipe = cpu::grouped_recipe(problem, test.chain(), isa, config);
    const HostTensor one = test.run(*recipe, 1);
    EXPECT_TRUE(test.check(one)) << to_text(config);
    for (int threads : {2, 5}) EXPECT_EQ(one.values(), test.run(*recipe, threads).values());
  }
}

// Such chains need the mask registers that the borders would like to keep.
TEST_P(Grouped, ChainsThatCompareMoreThanOnce) {
  const auto [isa, strides] = GetParam();
  Random random(58);
  for (Window window : {k3x3, k3x3s2}) {
    const Problem plain = conv_problem(grouped(1, 9, 23, {18, 1, 1}, window),
                                       {DType::f32, DType::f32, strides}, Tail::none, random);
    const Problem problem(plain.input(),
                          {plain.ops().front(), {ActivationOp{fuseplan::Activation::POWER}, {}}},
                          plain.output());
    if (is_taken(problem)) expect_right(problem, isa, random, true);
  }
}

// Of so wide a padding that a tile lies beside the image, and reads nothing.
TEST_P(Grouped, TilesBesideTheImage) {
  const auto [isa, strides] = GetParam();
  Random random(61);
  for (Window window : {Window{3, 3, 1, 4, 1}, Window{3, 3, 2, 7, 2}}) {
    const Problem problem =
        conv_problem(grouped(1, 9, 9, {17, 1, 1}, window), {DType::f32, DType::f32, strides},
                     Tail::bias_norm_relu, random);
    expect_right(problem, isa, random, true);
  }
}

// Tiles that leave the chain too few registers are not in the space, but right.
TEST_P(Grouped, SumsThatLeaveNoRoomWaitOnTheStack) {
  const auto [isa, strides] = GetParam();
  Random random(60);
  const Problem problem = conv_problem(grouped(1, 15, 29, {32, 1, 1}, k3x3),
                                       {DType::f32, DType::f32, strides}, Tail::add_gelu, random);
  const KernelCase test(problem, random);
  const bool is_wide = isa == Isa::avx512;
  const cpu::GroupedConfig tight =
      strides == Strides::channels_last
          ? (is_wide ? cpu::GroupedConfig{5, 6} : cpu::GroupedConfig{2, 7})
          : (is_wide ? cpu::GroupedConfig{14, 2} : cpu::GroupedConfig{12, 1});
  const cpu::GroupedShape shape(problem, test.chain(), isa);
  const auto chain = static_cast<int>(cpu::FinishNeeds::of(isa, shape.finish)->registers());
  const auto registers = [&](int of_chain) {
    return shape.lanes_are_channels ? cpu::channel_tile_registers(shape, tight, of_chain)
                                    : cpu::column_tile_registers(shape, tight, of_chain);
  };
  ASSERT_LE(registers(0), cpu::VectorCode::count(isa));
  ASSERT_GT(registers(chain), cpu::VectorCode::count(isa));
  EXPECT_TRUE(test.check(test.run(*cpu::grouped_recipe(problem, test.chain(), isa, tight))));
}

// A weight that is infinite must not turn into NaN where its tap falls on padding.
TEST_P(Grouped, PaddingTakesNoPart) {
  const auto [isa, strides] = GetParam();
  Random random(54);
  for (Window window : {k3x3, k3x3s2})
    for (std::int64_t width : {7, 21, 83})
      for (Groups groups : {Groups{18, 1, 1}, Groups{32, 1, 1}, Groups{6, 4, 4}}) {
        const Problem problem = conv_problem(grouped(1, 9, width, groups, window),
                                             {DType::f32, DType::f32, strides}, Tail::none, random);
        if (!is_taken(problem)) continue;
        KernelCase test(problem, random);
        test.set_weight({5, 0, 0, 0}, std::numeric_limits<double>::infinity());
        test.set_weight({17, 0, 2, 2}, -std::numeric_limits<double>::infinity());
        for (const auto& config : cpu::grouped_configs(problem, test.chain(), isa))
          EXPECT_TRUE(
              test.check(test.run(*cpu::grouped_recipe(problem, test.chain(), isa, config))))
              << to_text(config) << " of " << to_text(problem);
      }
}

// Whose first tile is made by the code of the next ones, with weights in registers, all or a row of
// them, or in memory, and at several depths.
TEST_P(Grouped, BordersOfWideRows) {
  const auto [isa, strides] = GetParam();
  Random random(62);
  const ConvCase shapes[] = {
      grouped(1, 5, 93, {32, 1, 1}, k3x3),
      grouped(1, 7, 121, {16, 1, 1}, k3x3s2),
      grouped(1, 6, 70, {32, 1, 1}, {5, 5, 1, 2, 1}),
      {{1, 32, 3, 4, 62}, {32, 1, 2, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 32}}};
  for (const ConvCase& shape : shapes)
    for (DType type : {DType::f32, DType::f16, DType::u8}) {
      const Problem problem = conv_problem(shape, {type, type, strides}, Tail::everything, random);
      expect_right(problem, isa, random, true);
    }
}

TEST_P(Grouped, NothingOutsideTheTensorsIsTouched) {
  const auto [isa, strides] = GetParam();
  Random random(55);
  for (const ConvCase& shape : kCases)
    for (DType type : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8}) {
      const Problem problem = conv_problem(shape, {type, type, strides}, Tail::everything, random);
      if (!is_taken(problem)) continue;
      const SplitChain chain = optimize(lower(problem), {});
      cpu::GroupedConfig config = cpu::grouped_configs(problem, chain, isa).front();
      config.ahead = true;
      for (End end : {End::front, End::back})
        run_guarded(problem, chain, *cpu::grouped_recipe(problem, chain, isa, config), end);
    }
}

// Strides of which only the one along the lanes is 1; elements with other strides than the output.
TEST_P(Grouped, GapsBetweenRowsAndImages) {
  const auto [isa, strides] = GetParam();
  Random random(56);
  for (DType type : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8}) {
    const fuseplan::Dims lens{2, 18, 13, 17}, filter{18, 1, 3, 3};
    const auto gappy_in = [&](DType its_type, const fuseplan::Dims& dims) {
      const Dims plain{dims.begin(), dims.end()};
      const Dims order =
          std::get<1>(GetParam()) == Strides::channels_last ? Dims{0, 2, 3, 1} : Dims{0, 1, 2, 3};
      const Dims gaps = strides_in_order(plain, order, &random);
      return Tensor{its_type, dims, fuseplan::Dims(gaps.begin(), gaps.end())};
    };
    const auto gappy = [&](const fuseplan::Dims& dims) { return gappy_in(type, dims); };
    const DType real = is_byte(type) ? DType::f32 : type, weight = is_byte(type) ? DType::i8 : type;
    fuseplan::Dims image = lens;
    image[0] = 1;
    const Problem problem(
        gappy(lens),
        {{ConvOp{{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 18}, gappy_in(weight, filter)}, {}},
         {AddOp{gappy(lens)}, {}},
         {NormOp{NormMode::per_activation, gappy_in(real, image)}, {}},
         {ActivationOp{fuseplan::Activation::RELU}, {true, true}}},
        gappy(lens));
    if (is_taken(problem)) expect_right(problem, isa, random);
  }
}

TEST(GroupedRefusal, SaysWhy) {
  Random random(57);
  const auto reason = [&](const ConvCase& shape, Strides strides, Isa isa) {
    const Problem problem =
        conv_problem(shape, {DType::f32, DType::f32, strides}, Tail::none, random);
    return cpu::grouped_refusal(problem, optimize(lower(problem), {}), isa).value_or("");
  };
  const ConvCase plain = grouped(1, 9, 9, {8, 1, 1}, k3x3);
  EXPECT_EQ(reason(plain, Strides::channels_last, Isa::avx2), "");
  EXPECT_NE(reason(plain, Strides::channels_last, Isa::portable), "");
  EXPECT_EQ(reason(plain, Strides::channels_first, Isa::avx2), "");
  EXPECT_NE(reason(grouped(1, 9, 9, {8, 1, 1}, {3, 3, 3, 1, 1}), Strides::channels_first, Isa::avx2)
                .find("column stride 1 or 2"),
            std::string::npos);
  // Permutations of whole vectors need inputs that fill them.
  for (const Groups& groups : {Groups{8, 4, 4}, Groups{4, 2, 2}})
    EXPECT_EQ(reason(grouped(1, 9, 9, groups, k3x3), Strides::channels_last, Isa::avx2), "");
  for (const Groups& groups : {Groups{5, 4, 4}, Groups{8, 4, 6}, Groups{8, 3, 3}, Groups{2, 8, 8}})
    EXPECT_NE(reason(grouped(1, 9, 9, groups, k3x3), Strides::channels_last, Isa::avx2)
                  .find("a multiple of 8"),
              std::string::npos);
  EXPECT_NE(reason(grouped(1, 9, 9, {1, 8, 8}, k3x3), Strides::channels_last, Isa::avx512)
                .find("one group"),
            std::string::npos);
  EXPECT_NE(reason(grouped(1, 9, 9, {2, 20, 8}, k3x3), Strides::channels_last, Isa::avx512)
                .find("groups of 20 input channels"),
            std::string::npos);
}

}  // namespace
}  // namespace fuseplan::test
