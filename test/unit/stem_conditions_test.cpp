// SPDX-License-Identifier: MIT
// What the solver takes and refuses, with the reason it gives; how its configurations are spelled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conditions.hpp"
#include "kernels/cpu/stem/config.hpp"

namespace fuseplan::test {
namespace {

Verdict ask(const std::string& text, cpu::Isa isa = cpu::Isa::avx512,
            std::string_view family = "generic", bool fast_pairs = false) {
  Traits traits{.backend = "cpu", .isa = isa};
  traits.extensions = {.bf16 = true, .fast_bf16 = fast_pairs};
  traits.family = family;
  return ask_solver("cpu_stem", text, traits);
}

TEST(StemConditions, FirstLayersOfNetworksAreTakenOnEveryCore) {
  for (const char* family : {"zen4", "zen5", "sapphire", "generic"})
    for (const char* type : {"f32", "f16", "bf16"})
      for (const char* layout : {"nchw", "nhwc"})
        for (const char* layer : {
                 "1x3x224x224:{1};conv({0}:64x3x7x7,pad=3x3,stride=2x2)",
                 "1x3x227x227:{1};conv({0}:96x3x11x11,stride=4x4)",
                 "1x3x224x224:{1};conv({0}:64x3x11x11,pad=2x2,stride=4x4)",
                 "8x12x64x64:{1};conv({0}:64x12x3x3,pad=1x1)",
                 "1x48x56x56:{1};conv({0}:96x48x5x5,pad=2x2,stride=2x2)",
             }) {
          const std::string text =
              fmt::format(fmt::runtime("{0}:" + std::string(layer)), type, layout);
          for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512})
            EXPECT_TRUE(ask(text, isa, family).accepted()) << text << " " << family;
        }
}

TEST(StemConditions, RefusesTheRestAndSaysWhy) {
  const struct {
    const char* text;
    RejectCode code;
  } cases[] = {
      {"f32:1x3x56x56;activation(relu)", RejectCode::Sequence},
      {"f32:1x3x56x56;conv(f32:64x3x7x7,pad=3x3,stride=2x2,strict)", RejectCode::Attribute},
      {"u8:1x3x56x56;conv(i8:64x3x7x7,pad=3x3,stride=2x2)->f32:1x64x28x28", RejectCode::DataType},
      {"f32:1x16x56x56;conv(f32:64x16x3x3,pad=1x1)", RejectCode::Convolution},
      {"f32:1x65x56x56;conv(f32:64x65x5x5,pad=1x1,stride=2x2)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x3x3,pad=1x1,stride=2x2)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x5x5,pad=1x1)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x7x7,pad=3x3,stride=2x2,dilation=1x2)", RejectCode::Convolution},
      {"f32:1x4x56x56;conv(f32:64x2x7x7,pad=3x3,stride=2x2,groups=2)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x7x7,pad=7x3,stride=2x2)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x7x7,pad=5x5,stride=2x2)", RejectCode::Convolution},
      {"f32:1x1x600x64:nhwc;conv(f32:64x1x147x3,stride=49x1)", RejectCode::Convolution},
      {"f32:1x3x8x56x56;conv(f32:64x3x1x7x7,stride=1x2x2)", RejectCode::Convolution},
      {"f32:1x3x56x56;conv(f32:64x3x3x3,pad=1x1)", RejectCode::Convolution},
      {"f32:1x3x224x224;conv(f32:4x3x7x7,pad=3x3,stride=2x2)", RejectCode::Size},
  };
  for (const auto& [text, code] : cases) expect_refused(ask(text), code, text);
  const char* fine = "f32:1x3x224x224;conv(f32:64x3x7x7,pad=3x3,stride=2x2)";
  EXPECT_TRUE(ask(fine).accepted());
  EXPECT_TRUE(ask(fine, cpu::Isa::avx2).accepted());
  expect_refused(ask(fine, cpu::Isa::portable), RejectCode::Device, fine);
}

// They are to be beaten, as direct kernels multiply pairs of bf16 there.
TEST(StemConditions, FastPairsAreHarderToBeat) {
  const char* text = "bf16:1x3x224x224;conv(bf16:64x3x7x7,pad=3x3,stride=2x2)";
  EXPECT_TRUE(ask(text, cpu::Isa::avx512, "zen4").accepted());
  expect_refused(ask(text, cpu::Isa::avx512, "zen4", true), RejectCode::Size, text);
  const char* other = "f16:1x3x224x224;conv(f16:64x3x7x7,pad=3x3,stride=2x2)";
  EXPECT_TRUE(ask(other, cpu::Isa::avx512, "zen4", true).accepted());
}

TEST(StemConditions, ConfigsAreSpelledOneWay) {
  const auto config = cpu::parse_stem_config("3x4,tiles=5");
  ASSERT_TRUE(config);
  EXPECT_EQ(*config, (cpu::StemConfig{3, 4, 5}));
  EXPECT_EQ(to_text(*config), "3x4,tiles=5");
  for (const char* text :
       {"", "3x3", "3x3,tiles", "3x3,tiles=", "3x3,tiles=0", "3x3,tiles=-4", "3x3,tiles=04",
        "3x3,tiles=4 ", "0x3,tiles=4", "3x-1,tiles=4", "3x3,tile=4", "3x3,tiles=99999999999"})
    EXPECT_FALSE(cpu::parse_stem_config(text)) << text;
}

}  // namespace
}  // namespace fuseplan::test
