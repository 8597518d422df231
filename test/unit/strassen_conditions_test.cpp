// SPDX-License-Identifier: MIT
// What the solver takes and refuses, with the reason it gives; what its kernels store past the
// caches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "conditions.hpp"
#include "kernels/cpu/strassen/recipe.hpp"

namespace fuseplan::test {
namespace {

Verdict ask(const std::string& text, cpu::Isa isa = cpu::Isa::avx512, bool fast_pairs = false,
            std::string_view family = "zen4") {
  Traits traits{.backend = "cpu", .isa = isa};
  traits.extensions = {.bf16 = true, .fast_bf16 = fast_pairs};
  traits.family = family;
  return ask_solver("cpu_strassen", text, traits);
}

TEST(StrassenConditions, TakesWhatItIsFasterFor) {
  for (const char* text :
       {"f32:1x64x56x56;conv(f32:256x64x1x1)",
        "f32:1x256x56x56;conv(f32:64x256x1x1);activation(relu)",
        "f32:1x512x28x28:nhwc;conv(f32:128x512x1x1)", "f32:1x2048x7x7:nhwc;conv(f32:512x2048x1x1)",
        "f32:1x512x14x14:nhwc;conv(f32:1024x512x1x1,stride=2x2)",
        "f16:1x256x14x14;conv(f16:1024x256x1x1)->f32:1x1024x14x14",
        "bf16:1x256x14x14:nhwc;conv(bf16:1024x256x1x1:nhwc)",
        "f32:1x256x28x28;conv(f32:129x256x1x1,deterministic)",
        "f32:1x256x4x9x9:nhwc;conv(f32:256x256x1x1x1)"})
    EXPECT_TRUE(ask(text).accepted()) << text;
}

TEST(StrassenConditions, RefusesTheRestAndSaysWhy) {
  const struct {
    const char* text;
    RejectCode code;
  } cases[] = {
      {"f32:1x256x14x14;activation(relu)", RejectCode::Sequence},
      {"f32:1x256x14x14;conv(f32:256x256x1x1,strict)", RejectCode::Attribute},
      {"f32:1x256x14x14;conv(f32:256x256x3x3,pad=1x1)", RejectCode::Convolution},
      {"f32:1x256x14x14;conv(f32:256x256x1x1,pad=1x1)", RejectCode::Convolution},
      {"f32:1x256x14x14;conv(f32:256x128x1x1,groups=2)", RejectCode::Convolution},
      {"u8:1x256x14x14;conv(i8:256x256x1x1)->f32:1x256x14x14", RejectCode::DataType},
      {"f32:1x256x14x14:nhwc;conv(f32:255x256x1x1)", RejectCode::Layout},
      {"f32:1x256x15x15;conv(f32:255x256x1x1)", RejectCode::Layout},
      {"f32:1x256x56x56:nhwc;conv(f32:32x256x1x1)", RejectCode::Size},
      {"f32:1x16x56x56;conv(f32:256x16x1x1)", RejectCode::Size},
  };
  for (const auto& [text, code] : cases) expect_refused(ask(text), code, text);
  const char* fine = "f32:1x256x14x14:nhwc;conv(f32:1024x256x1x1)";
  EXPECT_TRUE(ask(fine).accepted());
  EXPECT_TRUE(ask(fine, cpu::Isa::avx2).accepted());
  expect_refused(ask(fine, cpu::Isa::portable), RejectCode::Device, fine);
  const char* pairs = "bf16:1x256x14x14:nhwc;conv(bf16:1024x256x1x1)";
  expect_refused(ask(pairs, cpu::Isa::avx512, true), RejectCode::DataType, pairs);
}

// Cores that multiply fast gain less, unless what is staged comes as fast.
TEST(StrassenConditions, FastCoresWantMoreChannels) {
  const char* few = "f32:1x256x56x56:nhwc;conv(f32:128x256x1x1)";
  const char* many = "f32:1x512x14x14:nhwc;conv(f32:2048x512x1x1)";
  for (const char* family : {"zen4", "zen5", "generic"}) {
    const bool gains = family != std::string_view("generic");
    EXPECT_EQ(ask(few, cpu::Isa::avx512, false, family).accepted(), gains) << family;
    EXPECT_TRUE(ask(many, cpu::Isa::avx512, false, family).accepted()) << family;
  }
}

// As the support table says. Gathering pixels from planes takes cores that multiply fast as long.
TEST(StrassenConditions, LargeLayersAreTakenOnEveryCore) {
  for (const char* family : {"zen4", "zen5", "sapphire", "generic"})
    for (const char* type : {"f32", "f16", "bf16"})
      for (const char* layout : {"nchw", "nhwc"})
        for (const char* stride : {"1x1", "2x2"}) {
          const std::string text = fmt::format(
              "{0}:2x2048x60x60:{1};conv({0}:2048x2048x1x1,stride={2})", type, layout, stride);
          const bool gathered = layout == std::string_view("nchw") && stride[0] == '2';
          const bool gains = !gathered || family == std::string_view("zen4");
          EXPECT_EQ(ask(text, cpu::Isa::avx512, false, family).accepted(), gains) << text << family;
          EXPECT_TRUE(gathered || ask(text, cpu::Isa::avx2, false, family).accepted())
              << text << family;
        }
}

/// Whether some configuration has kernels that store past the caches, and whether all have.
struct Streaming {
  bool some = false, all = true;
};
Streaming streaming_of(const std::string& text, cpu::Isa isa = cpu::Isa::avx512) {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  Streaming streaming;
  for (const cpu::StrassenConfig& config : cpu::strassen_configs(problem, chain, isa)) {
    bool streams = false;
    for (const cpu::Function& function : cpu::strassen_recipe(problem, chain, isa, config)->emit())
      streams = streams || function.name.ends_with("_streaming");
    streaming.some = streaming.some || streams;
    streaming.all = streaming.all && streams;
  }
  return streaming;
}

// Such stores fault where they cross a line: the second half must begin with one, too.
TEST(StrassenConditions, OnlyHalvesOfWholeLinesAreStoredPastTheCaches) {
  EXPECT_TRUE(streaming_of("f32:1x64x56x56:nhwc;conv(f32:256x64x1x1)").all);
  EXPECT_TRUE(streaming_of("f32:1x64x56x56;conv(f32:256x64x1x1)").some);
  EXPECT_FALSE(streaming_of("f32:1x64x28x28;conv(f32:1024x64x1x1)").some);
  EXPECT_FALSE(streaming_of("f32:1x64x56x56:nhwc;conv(f32:272x64x1x1)").some);
  EXPECT_FALSE(streaming_of("f32:1x64x28x28:nhwc;conv(f32:256x64x1x1)").some);
  // Vectors of AVX2 are half lines, and tiles of two whole ones.
  EXPECT_TRUE(streaming_of("f32:1x64x56x56:nhwc;conv(f32:256x64x1x1)", cpu::Isa::avx2).some);
  EXPECT_FALSE(streaming_of("f32:1x64x56x56:nhwc;conv(f32:256x64x1x1)", cpu::Isa::avx2).all);
  EXPECT_FALSE(streaming_of("f32:1x64x56x56:nhwc;conv(f32:272x64x1x1)", cpu::Isa::avx2).some);
}

}  // namespace
}  // namespace fuseplan::test
