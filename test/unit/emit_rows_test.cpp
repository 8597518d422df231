// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>

#include "emit_kernel.hpp"
#include "expr/readers.hpp"
#include "rows_data.hpp"

namespace fuseplan::test {
namespace {

struct Size {
  int nodes, elements;
  std::int64_t max_rows, max_lanes;
};

void run_random_rows(cpu::Isa isa, Random& random, const Size& size) {
  cpu::RowsSpec spec{.isa = isa,
                     .body = ExactExpr(random, size.nodes, size.elements).expr(),
                     .input = any_dtype(random),
                     .output = any_dtype(random),
                     .lanes_are_channels = random.between(0, 1) != 0,
                     .elements = {},
                     .streaming = random.between(0, 2) == 0};
  for (int i = 0; i < size.elements; ++i)
    spec.elements.push_back({any_dtype(random), random.between(0, 2) != 0});
  const bool are_long = size.max_lanes > 100;
  if (!spec.streaming && !are_long && random.between(0, 3) == 0)
    spec.lanes = random.between(1, 4) * cpu::lanes_of(isa);
  const std::int64_t rows = random.between(1, size.max_rows),
                     lanes = spec.lanes == 0 ? random.between(1, size.max_lanes) : spec.lanes;
  spec.touching = spec.lanes == 0 && lanes >= 16 && random.between(0, 1) != 0;
  const bool gaps = !spec.touching;
  const auto turned = [&] { return gaps && random.between(0, 2) == 0; };
  RowsTensor input(spec.input, rows, lanes, gaps, random, turned()),
      output(spec.output, rows, lanes, gaps, random);
  std::vector<std::unique_ptr<RowsTensor>> elements;
  std::vector<const void*> element_data;
  std::vector<std::int64_t> element_steps;
  spec.input_lane_stride = input.lane_stride();
  for (auto& element : spec.elements) {
    elements.push_back(std::make_unique<RowsTensor>(
        element.dtype, rows, element.per_lane ? lanes : 1, gaps || !element.per_lane, random,
        element.per_lane && turned()));
    element.lane_stride = elements.back()->lane_stride();
    element_data.push_back(elements.back()->buffer.data());
    element_steps.push_back(elements.back()->step);
  }
  const bool continued = spec.touching && spec.lanes_are_channels;
  RowsTensor channels(DType::f32, kChannels,
                      spec.lanes_are_channels ? lanes + (continued ? 16 : 0) : rows, true, random);
  for (int i = 0; continued && i < 16; ++i)
    for (int c = 0; c < kChannels; ++c) channels.set(c, lanes + i, channels.get(c, i));
  const float uniforms[kScalars] = {2, -5};

  // Expected contents of the output's memory, gaps included.
  std::vector<std::byte> expected = output.buffer.contents();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t l = 0; l < lanes; ++l) {
      const std::vector<double> scalars(uniforms, uniforms + kScalars);
      std::vector<double> channel, element;
      for (int c = 0; c < kChannels; ++c)
        channel.push_back(channels.get(c, spec.lanes_are_channels ? l : r));
      for (std::size_t e = 0; e < elements.size(); ++e)
        element.push_back(elements[e]->get(r, spec.elements[e].per_lane ? l : 0));
      const LeafValues leaves{input.get(r, l), output.get(r, l), scalars, channel, element};
      const std::uint32_t bits =
          encode(static_cast<Element>(spec.output), evaluate(spec.body, leaves).front());
      std::memcpy(expected.data() + output.buffer.offset() + r * output.step + l * output.size,
                  &bits, static_cast<std::size_t>(output.size));
    }

  RowsKernel kernel(spec);
  kernel({.input = input.buffer.data(),
          .output = output.buffer.data(),
          .elements = element_data.data(),
          .element_steps = element_steps.data(),
          .uniforms = uniforms,
          .channels = reinterpret_cast<const float*>(channels.buffer.data()),
          .channel_stride_bytes = channels.step,
          .channel_step = spec.lanes_are_channels ? 0 : 4,
          .rows = rows,
          .lanes = lanes,
          .input_step = input.step,
          .output_step = output.step});
  const std::vector<std::byte> got = output.buffer.contents();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected[i])
        << name_of(isa) << " " << rows << "x" << lanes << " in " << name_of(spec.input) << " out "
        << name_of(spec.output) << " byte " << i - output.buffer.offset() << " of "
        << to_text(spec.body);
}

class EmitRows : public ::testing::TestWithParam<cpu::Isa> {};

TEST_P(EmitRows, EveryShapeAndTypeOfSmallChains) {
  Random random(11);
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i)
    run_random_rows(GetParam(), random, {14, static_cast<int>(random.between(0, 3)), 5, 67});
}

TEST_P(EmitRows, LongRows) {
  Random random(12);
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i)
    run_random_rows(GetParam(), random, {14, 1, 3, 700});
}

TEST_P(EmitRows, ChainsThatNeedTheStack) {
  Random random(13);
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i)
    run_random_rows(GetParam(), random,
                    {static_cast<int>(random.between(60, 400)),
                     static_cast<int>(random.between(0, 20)), 3, 40});
}

TEST_P(EmitRows, SameSpecSameBytes) {
  Random random(14);
  const cpu::RowsSpec spec{.isa = GetParam(),
                           .body = ExactExpr(random, 100, 0).expr(),
                           .input = DType::bf16,
                           .output = DType::f16,
                           .lanes_are_channels = true,
                           .elements = {}};
  EXPECT_EQ(emit_rows(spec), emit_rows(spec));
}

INSTANTIATE_TEST_SUITE_P(Isa, EmitRows, ::testing::ValuesIn(vector_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Storage conversions, on values that need rounding and on those that have no neighbours.
class EmitStorage : public ::testing::TestWithParam<DType> {};

TEST_P(EmitStorage, RoundsToNearestEvenAndKeepsNan) {
  const auto type = static_cast<Element>(GetParam());
  Random random(15);
  std::vector<float> x;
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.between(0, 0xffffffffLL));
    const float value = std::bit_cast<float>(i % 3 == 0 ? (bits & 0xffff0000u) | 0x8000u : bits);
    if (value == 0 || std::fabs(value) >= 0x1p-126f || std::isnan(value)) x.push_back(value);
  }
  for (const cpu::Target& target : vector_targets()) {
    cpu::RowsSpec spec{.isa = target.isa,
                       .body = {},
                       .input = DType::f32,
                       .output = GetParam(),
                       .elements = {},
                       .bf16 = target.extensions.bf16};
    spec.body.roots = {spec.body.graph.leaf(Leaf::input)};
    std::vector<std::uint16_t> out(x.size());
    RowsKernel kernel(spec);
    kernel({.input = x.data(),
            .output = out.data(),
            .rows = 1,
            .lanes = static_cast<std::int64_t>(x.size())});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = decode(type, encode(type, static_cast<double>(x[i])));
      const double got = decode(type, out[i]);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : want == got)
          << name_of(target) << " " << x[i] << " gives " << got << ", not " << want;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Types, EmitStorage, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class EmitBytes : public ::testing::TestWithParam<DType> {};

TEST_P(EmitBytes, RoundAndSaturate) {
  const auto type = static_cast<Element>(GetParam());
  Random random(16);
  std::vector<float> x = {0.5f, 1.5f, -0.5f, -1.5f, 127.5f, 126.5f, 254.5f, 255.5f, 3e9f, -3e9f};
  for (int i = 0; i < 50000; ++i) {
    const float any =
        std::bit_cast<float>(static_cast<std::uint32_t>(random.between(0, 0xffffffffLL)));
    if (any == 0 || std::fabs(any) >= 0x1p-126f || std::isnan(any)) x.push_back(any);
    x.push_back(static_cast<float>(random.between(-1200, 1200)) / 4);
  }
  for (const cpu::Isa isa : vector_isas()) {
    cpu::RowsSpec spec{
        .isa = isa, .body = {}, .input = DType::f32, .output = GetParam(), .elements = {}};
    spec.body.roots = {spec.body.graph.leaf(Leaf::input)};
    std::vector<std::uint8_t> out(x.size());
    RowsKernel kernel(spec);
    kernel({.input = x.data(),
            .output = out.data(),
            .rows = 1,
            .lanes = static_cast<std::int64_t>(x.size())});
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(out[i], encode(type, static_cast<double>(x[i]))) << name_of(isa) << " " << x[i];
  }
}

// Sums of integers are rows of i32.
TEST_P(EmitBytes, FromIntegers) {
  Random random(17);
  std::vector<std::int32_t> x;
  for (int i = 0; i < 1003; ++i) x.push_back(static_cast<std::int32_t>(random.between(-300, 300)));
  for (const cpu::Isa isa : vector_isas()) {
    cpu::RowsSpec spec{
        .isa = isa, .body = {}, .input = DType::i32, .output = GetParam(), .elements = {}};
    spec.body.roots = {spec.body.graph.leaf(Leaf::input)};
    std::vector<std::uint8_t> out(x.size());
    RowsKernel kernel(spec);
    kernel({.input = x.data(),
            .output = out.data(),
            .rows = 1,
            .lanes = static_cast<std::int64_t>(x.size())});
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(out[i], encode(static_cast<Element>(GetParam()), x[i])) << name_of(isa) << x[i];
  }
}
INSTANTIATE_TEST_SUITE_P(Types, EmitBytes, ::testing::Values(DType::i8, DType::u8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace fuseplan::test
