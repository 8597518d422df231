// SPDX-License-Identifier: MIT
#include "support/element.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fuseplan::test {
namespace {

/// A binary format: `precision` significand bits including the hidden one, least normal exponent
/// (of a significand in [1, 2)), and exponent bias. f32 is converted by the processor.
struct Format {
  const char* name;
  std::size_t bytes;
  int precision, min_exponent, bias;
};
constexpr Format kF16{"f16", 2, 11, -14, 15};
constexpr Format kF32{"f32", 4, 24, -126, 127};
constexpr Format kBf16{"bf16", 2, 8, -126, 127};

struct IntegerFormat {
  const char* name;
  IntegerRange range;
};
constexpr IntegerFormat kI8{"i8", {-128, 127}};
constexpr IntegerFormat kU8{"u8", {0, 255}};

// Asked for every element: no walk through a table.
const IntegerFormat* integer_of(Element type) {
  if (type == Element::i8) return &kI8;
  return type == Element::u8 ? &kU8 : nullptr;
}

std::uint32_t encode_integer(const IntegerRange& range, double value) {
  if (std::isnan(value)) value = range.low;
  const double whole = std::clamp(std::nearbyint(value), range.low, range.high);
  return static_cast<std::uint32_t>(static_cast<int>(whole)) & 0xffu;
}

double decode_integer(const IntegerRange& range, std::uint32_t bits) {
  const double value = bits & 0xffu;
  return value > range.high ? value - 256 : value;
}

const Format& format_of(Element type) {
  if (type == Element::f32) return kF32;
  if (type == Element::f16) return kF16;
  if (type != Element::bf16) throw std::invalid_argument("not a storage type of the tests");
  return kBf16;
}

int sign_shift(const Format& format) { return static_cast<int>(format.bytes) * 8 - 1; }
std::uint32_t infinity_bits(const Format& format) {
  return static_cast<std::uint32_t>(2 * format.bias + 1) << (format.precision - 1);
}

/// 2^exponent, of -1023 to 1023. ldexp for each number would take a quarter of the tests' time.
double power_of_two(int exponent) {
  constexpr int kMost = 1023;
  static const auto powers = [] {
    std::array<double, 2 * kMost + 1> all{};
    for (int i = -kMost; i <= kMost; ++i)
      all[static_cast<std::size_t>(i + kMost)] = std::ldexp(1.0, i);
    return all;
  }();
  return powers.at(static_cast<std::size_t>(exponent + kMost));
}

double decode_real(const Format& format, std::uint32_t bits) {
  const std::uint32_t infinity = infinity_bits(format);
  const std::uint32_t magnitude = bits & ((1u << sign_shift(format)) - 1);
  const double sign = (bits >> sign_shift(format)) & 1u ? -1.0 : 1.0;
  if (magnitude > infinity) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == infinity) return sign * std::numeric_limits<double>::infinity();

  const int field = static_cast<int>(magnitude >> (format.precision - 1));
  const std::uint32_t fraction = magnitude & ((1u << (format.precision - 1)) - 1);
  const double hidden = field > 0 ? power_of_two(format.precision - 1) : 0.0;
  const int exponent = std::max(field, 1) - format.bias;
  return sign * (hidden + fraction) * power_of_two(exponent - (format.precision - 1));
}

/// Of every pattern of 16 bits.
using Decoded = std::vector<double>;
Decoded decode_all(const Format& format) {
  Decoded all;
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) all.push_back(decode_real(format, bits));
  return all;
}

}  // namespace

std::size_t size_of(Element type) { return integer_of(type) ? 1 : format_of(type).bytes; }
const char* name_of(Element type) {
  const IntegerFormat* integer = integer_of(type);
  return integer != nullptr ? integer->name : format_of(type).name;
}

std::optional<IntegerRange> integers_of(Element type) {
  const IntegerFormat* integer = integer_of(type);
  if (integer == nullptr) return std::nullopt;
  return integer->range;
}

std::uint32_t encode(Element type, double value) {
  if (type == Element::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (const auto range = integers_of(type)) return encode_integer(*range, value);
  const Format& format = format_of(type);
  const std::uint32_t sign = std::signbit(value) ? 1u << sign_shift(format) : 0u;
  const std::uint32_t infinity = infinity_bits(format);
  if (std::isnan(value)) return sign | infinity | 1u << (format.precision - 2);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;

  // In units of the last place of its binade (or of the subnormals), the value is an integer once
  // rounded; rounding up to 2^precision lands on the first pattern of the next binade by itself.
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double units =
      std::nearbyint(std::fabs(value) * power_of_two(format.precision - 1 - exponent));
  const double pattern =
      (exponent - format.min_exponent) * power_of_two(format.precision - 1) + units;
  return sign | static_cast<std::uint32_t>(std::min<double>(pattern, infinity));
}

double decode(Element type, std::uint32_t bits) {
  if (type == Element::f32) return std::bit_cast<float>(bits);
  if (const auto range = integers_of(type)) return decode_integer(*range, bits);
  format_of(type);  // or it is no type
  static const Decoded f16 = decode_all(kF16), bf16 = decode_all(kBf16);
  const Decoded& all = type == Element::f16 ? f16 : bf16;
  return all[bits & 0xffffu];
}

double load_element(Element type, const void* data, std::int64_t offset) {
  const std::size_t size = size_of(type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(size),
              size);
  return decode(type, bits);
}

void store_element(Element type, void* data, std::int64_t offset, double value) {
  const std::size_t size = size_of(type);
  const std::uint32_t bits = encode(type, value);
  std::memcpy(static_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(size), &bits,
              size);
}

}  // namespace fuseplan::test
