// SPDX-License-Identifier: MIT
// Copies of rows into f32, of every type, step and length: what they hold, and that no byte outside
// the values they are told of is read or written.
#include "kernels/cpu/moves.hpp"

#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "rows_data.hpp"

namespace fuseplan::test {
namespace {

// Three whole vectors of 16 and every rest behind them.
constexpr std::int64_t kLongest = 3 * 16 + 15;

class Widen : public testing::TestWithParam<cpu::Isa> {};

void check_row(DType dtype, cpu::Isa isa, std::int64_t stride, std::int64_t count, bool at_end,
               Random& random) {
  const auto type = static_cast<Element>(dtype);
  const auto read = static_cast<std::size_t>(stride * (count - 1) + 1);
  const GuardedBuffer input(read * fuseplan::size_of(dtype), at_end);
  const GuardedBuffer output(static_cast<std::size_t>(count) * sizeof(float), at_end);
  for (std::size_t i = 0; i < read; ++i)
    store_element(type, input.data(), static_cast<std::int64_t>(i), random.uniform(-3, 3));
  std::vector<std::byte> expected = output.contents();
  for (std::int64_t i = 0; i < count; ++i)
    store_element(Element::f32, expected.data() + output.offset(), i,
                  load_element(type, input.data(), i * stride));
  cpu::moves_for(dtype, isa)
      .widen(input.data(), stride, reinterpret_cast<float*>(output.data()), count);
  EXPECT_EQ(output.contents(), expected)
      << name_of(type) << ", every " << stride << ", " << count << " values";
}

TEST_P(Widen, ReadsAndWritesItsValuesAlone) {
  Random random;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t stride : {1, 2, 3})
      for (std::int64_t count = 1; count <= kLongest; ++count)
        for (const bool at_end : {false, true})
          check_row(dtype, GetParam(), stride, count, at_end, random);
}

class Deal : public testing::TestWithParam<cpu::Isa> {};

void check_pieces(cpu::Isa isa, std::int64_t count, std::int64_t width, bool at_end,
                  Random& random) {
  constexpr std::int64_t kGap = 3;
  const std::int64_t step = width + kGap, pieces = (count + width - 1) / width;
  const std::int64_t last = count - (pieces - 1) * width;
  const GuardedBuffer input(static_cast<std::size_t>(count) * sizeof(float), at_end);
  const GuardedBuffer output(static_cast<std::size_t>((pieces - 1) * step + last) * sizeof(float),
                             at_end);
  for (std::int64_t i = 0; i < count; ++i)
    store_element(Element::f32, input.data(), i, random.uniform(-3, 3));
  std::vector<std::byte> expected = output.contents();
  for (std::int64_t i = 0; i < count; ++i)
    store_element(Element::f32, expected.data() + output.offset(), i / width * step + i % width,
                  load_element(Element::f32, input.data(), i));
  cpu::moves_for(DType::f32, isa)
      .deal(reinterpret_cast<const float*>(input.data()), count, width,
            reinterpret_cast<float*>(output.data()), step);
  EXPECT_EQ(output.contents(), expected) << count << " values by " << width;
}

TEST_P(Deal, ReadsAndWritesItsValuesAlone) {
  Random random;
  for (const std::int64_t width : {1, 7, 8, 14, 16, 24, 32, 48})
    for (std::int64_t count = 1; count <= 100; ++count)
      for (const bool at_end : {false, true})
        check_pieces(GetParam(), count, width, at_end, random);
}

std::vector<cpu::Isa> isas() {
  std::vector<cpu::Isa> all = vector_isas();
  all.push_back(cpu::Isa::portable);
  return all;
}

INSTANTIATE_TEST_SUITE_P(OfThisMachine, Deal, testing::ValuesIn(isas()),
                         [](const auto& info) { return std::string(cpu::name_of(info.param)); });
INSTANTIATE_TEST_SUITE_P(OfThisMachine, Widen, testing::ValuesIn(isas()),
                         [](const auto& info) { return std::string(cpu::name_of(info.param)); });

}  // namespace
}  // namespace fuseplan::test
