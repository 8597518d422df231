// SPDX-License-Identifier: MIT
// Planes turned to pixels, in every form of their elements: what becomes of each, and that no byte
// outside the block is read or written.
#include "kernels/cpu/pixel_turn.hpp"

#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "kernels/cpu/pixel_pairs.hpp"
#include "rows_data.hpp"

namespace fuseplan::test {
namespace {

/// The bytes that an element of so many, little-endian, becomes.
struct FormCase {
  const char* name;
  cpu::PixelTurn (*turn)(cpu::Isa);
  std::size_t from, to;
  std::int64_t (*becomes)(std::int64_t);
};

std::int64_t itself(std::int64_t value) { return value; }

const FormCase kForms[] = {
    {"byte", cpu::pixel_turn_for<cpu::PlainByte>, 1, 1, itself},
    {"shifted", cpu::pixel_turn_for<cpu::ShiftedByte>, 1, 1,
     [](std::int64_t value) { return (value + 128) % 256; }},
    {"unsigned", cpu::pixel_turn_for<cpu::WideUnsigned>, 1, 2, itself},
    {"signed", cpu::pixel_turn_for<cpu::WideSigned>, 1, 2,
     [](std::int64_t value) { return value < 128 ? value : value + 65536 - 256; }},
    {"half", cpu::pixel_turn_for<cpu::PlainHalf>, 2, 2, itself},
    {"word", cpu::pixel_turn_for<cpu::PlainWord>, 4, 4, itself},
};

std::int64_t read_bytes(const std::byte* from, std::size_t bytes) {
  std::int64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

struct Shape {
  std::int64_t pixels, channels, pixel_stride;
  std::int64_t channel_gap, output_gap;
};

void check_block(const FormCase& form, cpu::Isa isa, const Shape& shape, bool at_end,
                 Random& random) {
  const std::int64_t reach = (shape.pixels - 1) * shape.pixel_stride + 1;
  const std::int64_t plane = reach + shape.channel_gap, step = shape.channels + shape.output_gap;
  const GuardedBuffer input(
      static_cast<std::size_t>((shape.channels - 1) * plane + reach) * form.from, at_end);
  const GuardedBuffer output(
      static_cast<std::size_t>((shape.pixels - 1) * step + shape.channels) * form.to, at_end);
  for (std::int64_t i = 0;
       i < ((shape.channels - 1) * plane + reach) * static_cast<std::int64_t>(form.from); ++i)
    input.data()[i] = static_cast<std::byte>(random.between(0, 255));
  std::vector<std::byte> expected = output.contents();
  for (std::int64_t p = 0; p < shape.pixels; ++p)
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const std::int64_t at = p * shape.pixel_stride + c * plane, place = p * step + c;
      const std::int64_t value = form.becomes(
          read_bytes(input.data() + at * static_cast<std::int64_t>(form.from), form.from));
      std::memcpy(expected.data() + output.offset() + static_cast<std::size_t>(place) * form.to,
                  &value, form.to);
    }
  const std::int64_t ahead = random.between(0, 1) * plane * shape.channels;
  form.turn(isa)(input.data(), {shape.pixels, shape.channels, shape.pixel_stride, plane, ahead},
                 output.data(), step);
  ASSERT_EQ(output.contents(), expected)
      << form.name << ", " << shape.pixels << " pixels, every " << shape.pixel_stride << ", of "
      << shape.channels << " channels, gaps of " << shape.channel_gap << " and "
      << shape.output_gap;
}

class PixelTurn : public testing::TestWithParam<cpu::Isa> {};

// Rows of whole vectors and squares, and every kind of rest; few channels, and groups of 16, 32 and
// 64 that share vectors, with rests.
TEST_P(PixelTurn, ReadsAndWritesItsBlockAlone) {
  Random random;
  for (const FormCase& form : kForms)
    for (const std::int64_t pixels : {1, 2, 7, 8, 14, 15, 16, 17, 28, 33, 56})
      for (const std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 48, 64, 67, 128})
        for (const std::int64_t stride : {1, 2, 3})
          for (const bool at_end : {false, true})
            ASSERT_NO_FATAL_FAILURE(check_block(
                form, GetParam(),
                {pixels, channels, stride, random.between(0, 5), 4 * random.between(0, 1)}, at_end,
                random));
}

// Pixels that lie anywhere.
TEST_P(PixelTurn, WritesToOddSteps) {
  Random random;
  for (const FormCase& form : kForms)
    for (const std::int64_t pixels : {3, 16, 30})
      for (const std::int64_t channels : {3, 32, 64})
        for (const std::int64_t gap : {1, 2, 3})
          ASSERT_NO_FATAL_FAILURE(
              check_block(form, GetParam(), {pixels, channels, 1, 0, gap}, true, random));
}

std::vector<cpu::Isa> isas() {
  std::vector<cpu::Isa> all = vector_isas();
  all.push_back(cpu::Isa::portable);
  return all;
}
INSTANTIATE_TEST_SUITE_P(OfThisMachine, PixelTurn, testing::ValuesIn(isas()),
                         [](const auto& info) { return std::string(cpu::name_of(info.param)); });

void check_pairs(std::int64_t count, std::int64_t stride, bool has_odd, bool at_end,
                 Random& random) {
  const auto read = static_cast<std::size_t>((count - 1) * stride + 1);
  const GuardedBuffer even(read * 2, at_end), odd(read * 2, at_end);
  const GuardedBuffer output(static_cast<std::size_t>(count) * 4, at_end);
  for (std::size_t i = 0; i < read * 2; ++i) {
    even.data()[i] = static_cast<std::byte>(random.between(0, 255));
    odd.data()[i] = static_cast<std::byte>(random.between(0, 255));
  }
  std::vector<std::byte> expected = output.contents();
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* pair = expected.data() + output.offset() + i * 4;
    std::memcpy(pair, even.data() + i * stride * 2, 2);
    if (has_odd) std::memcpy(pair + 2, odd.data() + i * stride * 2, 2);
    if (!has_odd) std::memset(pair + 2, 0, 2);
  }
  const auto* halves = reinterpret_cast<const std::uint16_t*>(odd.data());
  cpu::pair_halves(reinterpret_cast<const std::uint16_t*>(even.data()), has_odd ? halves : nullptr,
                   stride, reinterpret_cast<std::uint32_t*>(output.data()), count);
  ASSERT_EQ(output.contents(), expected) << count << " pairs, every " << stride;
}

TEST(PixelPairs, ReadAndWriteTheirValuesAlone) {
  if (cpu::host_isa() != cpu::Isa::avx512) {
    std::printf("NOT TESTED: pairs, which are made with AVX-512\n");
    return;
  }
  Random random;
  for (const std::int64_t stride : {1, 2, 3})
    for (std::int64_t count = 1; count <= 50; ++count)
      for (const bool has_odd : {false, true})
        for (const bool at_end : {false, true})
          ASSERT_NO_FATAL_FAILURE(check_pairs(count, stride, has_odd, at_end, random));
}

}  // namespace
}  // namespace fuseplan::test
