// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/int8/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::DotKind;

struct Setting {
  cpu::Isa isa;
  DotKind dot;
  Strides strides;
};
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (Strides strides :
       {Strides::channels_first, Strides::channels_last, Strides::padded, Strides::permuted})
    for (cpu::Isa isa : vector_isas()) {
      all.push_back({isa, DotKind::pairs, strides});
      if (cpu::host_extensions().has_vnni(isa)) all.push_back({isa, DotKind::quads, strides});
    }
  return all;
}

std::string name_of_setting(const testing::TestParamInfo<Setting>& info) {
  const auto& [isa, dot, strides] = info.param;
  return std::string(cpu::name_of(isa)) + (dot == DotKind::quads ? "_quads_" : "_pairs_") +
         name_of(strides);
}

class Int8Conv : public ::testing::TestWithParam<Setting> {
 protected:
  /// Whether the kernels take the problem; if they do, checks them in the first `most`
  /// configurations.
  bool run(const Problem& problem, std::size_t most = 1) {
    const auto& [isa, dot, strides] = GetParam();
    const KernelCase test(problem, random_);
    if (byte_refusal(problem, test.chain(), isa, dot)) return false;
    for (const cpu::ByteConfig& config : byte_configs(problem, isa, dot)) {
      EXPECT_TRUE(test.check(test.run(*byte_recipe(problem, test.chain(), isa, dot, config), 2)))
          << to_text(config);
      if (--most == 0) break;
    }
    return true;
  }
  Problem problem(const ConvCase& shape, DType input, DType output, Tail tail) {
    return conv_problem(shape, {input, output, GetParam().strides}, tail, random_);
  }
  /// Axes in random order leave few outputs with anything contiguous.
  bool all_accepted() const { return GetParam().strides != Strides::permuted; }

  Random random_{41};
};
INSTANTIATE_TEST_SUITE_P(All, Int8Conv, ::testing::ValuesIn(settings()), name_of_setting);

TEST_P(Int8Conv, Oddities) {
  constexpr DType kOutputs[] = {DType::u8, DType::i8, DType::f32, DType::bf16};
  std::size_t number = 0, accepted = 0, row_number = 0;
  for (const ConvProblem& row : read_conv_problems("oddities.csv")) {
    for (Tail tail : {Tail::none, Tail::requantise, Tail::bias_norm_relu, Tail::everything}) {
      SCOPED_TRACE(row.name);
      // Each tail meets each pair of types: they move by one row and by four.
      const DType in = row_number / 4 % 2 == 0 ? DType::u8 : DType::i8;
      const DType out = kOutputs[(number + row_number) % 4];
      accepted += static_cast<std::size_t>(run(problem(conv_case(row), in, out, tail), number));
      ++number;
    }
    ++row_number;
  }
  if (all_accepted()) {
    EXPECT_EQ(accepted, number);
  }
  EXPECT_GT(accepted, 0);
}

// Rows shorter and longer than a tile, one tile of several rows and a rest, windows of part of a
// row, channels that leave a vector or a tile unfilled, planes.
TEST_P(Int8Conv, EveryConfiguration) {
  const ConvCase cases[] = {
      {{1, 40, 7, 7}, {72, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 64, 5, 3}, {50, 64, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 24, 6, 700}, {20, 24, 3, 3}, {{0, 0}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 30, 31}, {64, 3, 7, 7}, {{3, 3}, {3, 3}, {2, 2}, {1, 1}, 1}},
      {{1, 20, 21, 11}, {34, 10, 3, 5}, {{2, 4}, {2, 4}, {1, 1}, {2, 2}, 2}},
      {{1, 512, 9, 9}, {40, 512, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 32, 12, 13}, {40, 32, 1, 1}, {{0, 0}, {0, 0}, {2, 1}, {1, 1}, 1}},
      {{2, 48, 9, 14}, {34, 48, 2, 1}, {{0, 0}, {0, 0}, {1, 3}, {1, 1}, 1}},
      {{1, 8, 4, 6, 7}, {24, 8, 3, 3, 3}, {{1, 1, 1}, {1, 0, 2}, {1, 2, 1}, {1, 1, 2}, 1}},
      {{2, 5, 40}, {9, 5, 3}, {{1}, {2}, {2}, {1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (DType in : {DType::u8, DType::i8})
      for (DType out : {DType::u8, DType::f32}) run(problem(shape, in, out, Tail::requantise), 100);
}

TEST(Int8Config, TextReadsBack) {
  const cpu::ByteConfig config{14, 2, 784};
  EXPECT_EQ(to_text(config), "14x2,block=784");
  EXPECT_EQ(cpu::parse_byte_config(to_text(config)), config);
  for (const char* text : {"", "14x2", "14x2,block=0", "0x2,block=1", "014x2,block=1",
                           "14x2,block=1 ", "14x2,block=99999999999999999999"})
    EXPECT_EQ(cpu::parse_byte_config(text), std::nullopt) << text;
}

TEST(Int8Refusal, SaysWhy) {
  const auto refusal = [](const char* text, cpu::Isa isa) {
    const Problem problem = parse_problem(text);
    return byte_refusal(problem, optimize(lower(problem), {}), isa, DotKind::pairs)
        .value_or("accepted");
  };
  EXPECT_NE(refusal("u8:1x8x4x4;activation(relu)", cpu::Isa::avx512).find("no convolution"),
            std::string::npos);
  EXPECT_NE(refusal("u8:1x8x4x4;conv(i8:8x8x1x1)", cpu::Isa::portable).find("AVX2"),
            std::string::npos);
  EXPECT_NE(refusal("u8:1x8x4x4;conv(i8:8x8x1x1)->f32:1x8x4x4:s256,32,8,2", cpu::Isa::avx2)
                .find("contiguous"),
            std::string::npos);
}

TEST(Int8Bounds, NothingOutsideTheTensorsIsTouched) {
  const ConvCase cases[] = {
      {{2, 5, 6, 9}, {19, 5, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 36, 7, 7}, {35, 36, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 9, 9}, {17, 33, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 12, 8, 21}, {36, 1, 5, 3}, {{2, 4}, {3, 1}, {2, 1}, {1, 2}, 12}},
      {{1, 3, 4, 5, 6}, {7, 3, 3, 2, 3}, {{1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}, 1}},
  };
  Random random(42);
  for (const ConvCase& shape : cases)
    for (const Setting& setting : settings())
      for (Tail tail : {Tail::everything, Tail::requantise})
        for (DType in : {DType::u8, DType::i8})
          for (End end : {End::front, End::back}) {
            if (setting.strides == Strides::permuted || setting.strides == Strides::padded)
              continue;
            const Problem problem =
                conv_problem(shape, {in, DType::u8, setting.strides}, tail, random);
            const SplitChain chain = optimize(lower(problem), {});
            ASSERT_EQ(byte_refusal(problem, chain, setting.isa, setting.dot), std::nullopt);
            const auto config = byte_configs(problem, setting.isa, setting.dot).front();
            run_guarded(problem, chain,
                        *byte_recipe(problem, chain, setting.isa, setting.dot, config), end);
          }
}

}  // namespace
}  // namespace fuseplan::test
