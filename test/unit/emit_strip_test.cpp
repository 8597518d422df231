// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <vector>

#include "emit_kernel.hpp"
#include "expr/expr.hpp"
#include "kernels/cpu/emit/strip_finisher.hpp"
#include "rows_data.hpp"

namespace fuseplan::test {
namespace {

constexpr int kLanes = 16;

/// A strip of sums, whole vectors of channels, that are stored as they are.
struct Strip {
  cpu::StripSpec spec;
  DType output;
  bool bf16 = false;       ///< by the processor's own instruction
  bool streaming = false;  ///< output in whole lines
  std::int64_t pixels = 0;
  int terms = 0;  ///< channel values that are added, all of them zero

  std::int64_t channels() const { return (spec.vectors - 1) * kLanes + spec.last_lanes; }
  std::int64_t gap() const { return streaming ? 0 : 3; }
};

/// What rounds, saturates, overflows and is no number at all, among others.
float any_value(Random& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                kInf,
                                -kInf,
                                1e10f,
                                -1e10f,
                                2147483648.0f,
                                -2147483904.0f,
                                65536.0f,
                                -65536.0f,
                                32768.0f,
                                255.5f,
                                254.5f,
                                127.5f,
                                126.5f,
                                -127.5f,
                                -128.5f,
                                -0.5f,
                                0.5f,
                                1.5f,
                                -0.0f};
  const auto which = static_cast<std::size_t>(random.between(0, 2 * std::size(kSpecial)));
  if (which < std::size(kSpecial)) return kSpecial[which];
  return static_cast<float>(random.between(-3000, 3000)) / 8;
}

/// Instructions in `code` that store a register of 64 bytes past the caches.
std::ptrdiff_t lines_stored(const std::vector<std::byte>& code) {
  constexpr std::uint8_t kStore[] = {0x62, 0x01, 0x7c, 0x48, 0x2b};
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; at + std::size(kStore) <= code.size(); ++at) {
    // The second byte says which registers, too.
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(code[at + i]); };
    count += byte(0) == kStore[0] && (byte(1) & 0x0f) == 0x01 && byte(2) == kStore[2] &&
             byte(3) == kStore[3] && byte(4) == kStore[4];
  }
  return count;
}

cpu::FinishSpec finish_of(const Strip& strip) {
  const auto size = static_cast<std::int64_t>(size_of(strip.output));
  cpu::FinishSpec finish{
      .body = {},
      .lanes_are_channels = true,
      .bf16 = strip.bf16,
      .output = {strip.output, true, size, 0, (strip.channels() + strip.gap()) * size},
      .elements = {},
      .streaming = strip.streaming,
      .channel_root = 0};
  Graph& graph = finish.body.graph;
  Ref value = graph.leaf(Leaf::input);
  for (int i = 0; i < strip.terms; ++i)
    value = graph.call(Fn::add_, value, graph.leaf(Leaf::channel, i));
  finish.body.roots = {value};
  return finish;
}

void check(const Strip& strip, Random& random) {
  SCOPED_TRACE(std::string(name_of(strip.output)) + (strip.bf16 ? " natively" : "") +
               (strip.streaming ? " streaming" : ""));
  const std::int64_t size = static_cast<std::int64_t>(size_of(strip.output));
  const std::int64_t step = strip.channels() + strip.gap();
  const CodeMemory code(cpu::emit_strip_finisher(strip.spec, finish_of(strip)));

  const std::int64_t row = strip.spec.vectors * kLanes;
  GuardedBuffer sums(static_cast<std::size_t>(strip.pixels * row) * sizeof(float), true);
  auto* const sum = reinterpret_cast<float*>(sums.data());
  for (std::int64_t i = 0; i < strip.pixels * row; ++i) sum[i] = any_value(random);
  const auto bytes =
      static_cast<std::size_t>(((strip.pixels - 1) * step + strip.channels()) * size);
  GuardedBuffer output(bytes, true), expected(bytes, true);
  for (std::int64_t p = 0; p < strip.pixels; ++p)
    for (std::int64_t c = 0; c < strip.channels(); ++c)
      store_element(static_cast<Element>(strip.output), expected.data(), p * step + c,
                    strip.terms > 0 ? sum[p * row + c] + 0.0f : sum[p * row + c]);
  const std::vector<float> zeros(static_cast<std::size_t>(row), 0.0f);
  const cpu::RowsCall chain{.output = output.data(), .channels = zeros.data()};
  const cpu::StripCall call{sum, &chain, strip.pixels};
  {
    const FlushDenormals flush;
    reinterpret_cast<void (*)(const cpu::StripCall*)>(
        reinterpret_cast<std::uintptr_t>(code.data()))(&call);
  }
  EXPECT_EQ(output.contents(), expected.contents())
      << strip.spec.vectors << " vectors, " << strip.spec.last_lanes << " lanes in the last, "
      << strip.pixels << " pixels";
}

std::vector<DType> types() {
  if (cpu::host_isa() < cpu::Isa::avx512) {
    std::printf("NOT TESTED: strip finishers, which are AVX-512 code\n");
    return {};
  }
  return {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8};
}

class EmitStrip : public ::testing::TestWithParam<DType> {
 protected:
  Random random_{31};
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EmitStrip);
INSTANTIATE_TEST_SUITE_P(Types, EmitStrip, ::testing::ValuesIn(types()),
                         [](const auto& info) { return name_of(info.param); });

// One to four vectors, the last of them whole or in part, which are joined where they can be.
TEST_P(EmitStrip, StoresWhatItIsGivenAndNothingElse) {
  for (int vectors = 1; vectors <= 4; ++vectors)
    for (const int lanes : {kLanes, kLanes - 1, 5, 1})
      for (const std::int64_t pixels : {1, 3, 8, 17}) {
        check({{vectors, lanes}, GetParam(), false, false, pixels}, random_);
        if (GetParam() == DType::bf16 && cpu::host_extensions().bf16)
          check({{vectors, lanes}, GetParam(), true, false, pixels}, random_);
      }
}

// By instructions that fault unless they store whole lines.
TEST_P(EmitStrip, StoresWholeLinesPastTheCaches) {
  const auto size = static_cast<int>(size_of(GetParam()));
  const cpu::StripSpec spec{4 / size, kLanes};
  for (const std::int64_t pixels : {4, 16, 64})
    check({spec, GetParam(), false, true, pixels}, random_);
  // A line a pixel, of those that are finished together and of those that are left over.
  const Strip strip{spec, GetParam(), false, true, 1};
  EXPECT_EQ(lines_stored(cpu::emit_strip_finisher(spec, finish_of(strip))),
            cpu::StripEmitter::most_pixels(spec) + 1);
}

// More values of channels than are kept in registers beside the sums.
TEST_P(EmitStrip, ReadsManyChannelValues) {
  const cpu::StripSpec spec{4 / static_cast<int>(size_of(GetParam())), kLanes};
  for (const int terms : {1, 4, 8, 12, 20})
    check({spec, GetParam(), false, false, 17, terms}, random_);
}

// A function with many constants, beside sums that wait to be joined and keep their registers.
TEST_P(EmitStrip, AppliesFunctionsBesideSumsThatWait) {
  constexpr int kPixels = 17;
  for (const int vectors : {1, 2, 4})
    for (const int terms : {0, 1, 2, 3})
      for (const Fn function : {Fn::logistic_, Fn::tanh_}) {
        const cpu::StripSpec spec{vectors, kLanes};
        cpu::FinishSpec finish = finish_of({spec, GetParam(), false, false, kPixels, terms});
        finish.body.roots = {finish.body.graph.call(function, finish.body.roots.front())};
        const CodeMemory code(cpu::emit_strip_finisher(spec, finish));
        const std::int64_t row = vectors * kLanes, step = row + 3;
        std::vector<float> sums(static_cast<std::size_t>(kPixels * row));
        for (float& sum : sums) sum = static_cast<float>(random_.between(-800, 800)) / 100;
        const std::vector<float> zeros(static_cast<std::size_t>(row), 0.0f);
        std::vector<double> output(static_cast<std::size_t>(kPixels * step));
        const cpu::RowsCall chain{.output = output.data(), .channels = zeros.data()};
        const cpu::StripCall call{sums.data(), &chain, kPixels};
        reinterpret_cast<void (*)(const cpu::StripCall*)>(
            reinterpret_cast<std::uintptr_t>(code.data()))(&call);
        for (std::int64_t p = 0; p < kPixels; ++p)
          for (std::int64_t c = 0; c < row; ++c) {
            const double x = sums[static_cast<std::size_t>(p * row + c)];
            const double exact = function == Fn::tanh_ ? std::tanh(x) : 1 / (1 + std::exp(-x));
            const double unsigned_exact = GetParam() == DType::u8 ? std::max(0.0, exact) : exact;
            const double got =
                load_element(static_cast<Element>(GetParam()), output.data(), p * step + c);
            const double bound = is_byte(GetParam()) ? 0.5001 : std::fabs(exact) / 250 + 1e-6;
            ASSERT_NEAR(got, unsigned_exact, bound)
                << vectors << " vectors, " << terms << " terms, x = " << x;
          }
      }
}

}  // namespace
}  // namespace fuseplan::test
