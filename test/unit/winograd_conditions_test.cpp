// SPDX-License-Identifier: MIT
// What the solver takes and refuses, with the reason it gives.
#include <gtest/gtest.h>

#include "conditions.hpp"
#include "kernels/cpu/winograd/config.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

Verdict ask(const std::string& text, cpu::Isa isa = cpu::Isa::avx512,
            const cpu::Extensions& extensions = {}) {
  return ask_solver("cpu_winograd", text, {.backend = "cpu", .isa = isa, .extensions = extensions});
}

TEST(WinogradConditions, TakesWhatItIsFasterFor) {
  for (const char* text : {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1)",
                           "f32:1x16x60x60:nhwc;conv(f32:16x16x3x3:nhwc)",
                           "f32:4x512x7x7;conv(f32:512x512x3x3,pad=1x1);activation(relu)",
                           "f32:1x512x7x7;conv(f32:512x512x3x3,pad=1x1)",
                           "f32:1x192x17x17:nhwc;conv(f32:192x192x1x7,pad=0x3)",
                           "f32:1x192x17x17;conv(f32:192x192x7x1,pad=3x0)",
                           "f32:1x48x35x35:nhwc;conv(f32:64x48x5x5,pad=2x2)",
                           "f32:1x64x56x56:nhwc;conv(f32:64x64x4x4,pad=1x1)",
                           "f32:1x128x56x56:nhwc;conv(f32:128x128x3x3,pad=1x1,stride=2x2)",
                           "f32:1x64x56x56;conv(f32:64x64x5x3,pad=1x1,stride=1x2)",
                           "f16:16x256x28x28;conv(f16:256x256x3x3,pad=1x1,stride=2x2)",
                           "f32:1x256x33x33;conv(f32:256x256x3x3,pad=2x2,dilation=2x2)",
                           "f16:1x64x56x56:nhwc;conv(f16:64x64x3x3,pad=8x14,dilation=8x14)",
                           "f32:1x384x32x8:nhwc;conv(f32:384x384x3x1,pad=1x0)",
                           "f16:1x64x56x56:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1)",
                           "bf16:1x64x56x56;conv(bf16:64x64x3x3,pad=1x1)->f32:1x64x56x56",
                           "f32:2x50x19x21;conv(f32:72x50x3x3,pad=2x0,pad_hi=0x1,deterministic)"})
    EXPECT_TRUE(ask(text).accepted()) << text;
}

TEST(WinogradConditions, RefusesTheRestAndSaysWhy) {
  const struct {
    const char* text;
    RejectCode code;
  } cases[] = {
      {"f32:1x64x56x56;activation(relu)", RejectCode::Sequence},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1,strict)", RejectCode::Attribute},
      {"f32:1x64x56x56;conv(f32:64x64x6x6,pad=1x1)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x7x7,pad=3x3)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x1x1)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x1x7,pad=1x3)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x1x3,pad=0x1,stride=2x1)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1,stride=3x3)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x5x5,pad=1x1,stride=2x2)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x2,dilation=1x2,stride=1x2)",
       RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x15,dilation=1x15)", RejectCode::Convolution},
      {"f32:1x64x3x56;conv(f32:64x64x3x3,pad=9x1,dilation=6x1)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x32x3x3,pad=1x1,groups=2)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=3x1)", RejectCode::Convolution},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1,pad_hi=1x3)", RejectCode::Convolution},
      {"f32:1x64x8x9x9;conv(f32:64x64x1x3x3)", RejectCode::Convolution},
      {"f32:1x15x56x56;conv(f32:64x15x3x3,pad=1x1)", RejectCode::Size},
      {"f32:1x512x14x14;conv(f32:512x512x3x3,pad=1x1,stride=2x2)", RejectCode::Size},
      {"f32:1x16x1x1;conv(f32:512x16x3x3,pad=1x1)", RejectCode::Size},
      {"f32:1x64x56x56:s400000,6250,112,2;conv(f32:64x64x3x3,pad=1x1)", RejectCode::Layout},
  };
  for (const auto& [text, code] : cases) expect_refused(ask(text), code, text);
  const char* fine = "f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1)";
  EXPECT_TRUE(ask(fine, cpu::Isa::avx2).accepted());
  expect_refused(ask(fine, cpu::Isa::portable), RejectCode::Device, fine);
  const char* dilated = "f32:1x64x56x56;conv(f32:64x64x3x3,pad=7x7,dilation=7x7)";
  EXPECT_TRUE(ask(dilated).accepted());
  expect_refused(ask(dilated, cpu::Isa::avx2), RejectCode::Convolution, dilated);
}

TEST(WinogradConditions, FastPairsAreHarderToBeat) {
  constexpr cpu::Extensions kSlow{.bf16 = true}, kFast{.bf16 = true, .fast_bf16 = true};
  const char* large = "bf16:1x64x56x56;conv(bf16:64x64x3x3,pad=1x1)";
  const char* small = "bf16:1x512x7x7;conv(bf16:512x512x3x3,pad=1x1)";
  EXPECT_TRUE(ask(large, cpu::Isa::avx512, kFast).accepted());
  EXPECT_TRUE(ask(small, cpu::Isa::avx512, kSlow).accepted());
  EXPECT_FALSE(ask(small, cpu::Isa::avx512, kFast).accepted());
  EXPECT_TRUE(
      ask("f16:1x512x7x7;conv(f16:512x512x3x3,pad=1x1)", cpu::Isa::avx512, kFast).accepted());
}

TEST(WinogradConditions, ConfigsAreSpelledOneWay) {
  const auto config = cpu::parse_winograd_config("2x4,14x2,tiles=28");
  ASSERT_TRUE(config);
  EXPECT_EQ(*config, (cpu::WinogradConfig{2, 4, 14, 2, 28}));
  EXPECT_EQ(to_text(*config), "2x4,14x2,tiles=28");
  for (const char* text :
       {"", "4x4", "4x4,14x2", "4x4,14x2,tiles", "4x4,14x2,tiles=", "4x4,14x2,tiles=0",
        "4x4,14x2,tiles=-14", "4x4,14x2,tiles=028", "4x4,14x2,tiles=28 ", "0x4,14x2,tiles=28",
        "4x-1,14x2,tiles=28", "4x4,0x2,tiles=28", "4x4,14x2,tile=28", "4x4,14x2,tiles=99999999999"})
    EXPECT_FALSE(cpu::parse_winograd_config(text)) << text;
}

}  // namespace
}  // namespace fuseplan::test
