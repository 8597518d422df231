// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fuseplan::test {

/// Storage types of the tests' tensors; values equal fuseplanDataType_t, so a cast converts.
enum class Element : int { f16 = 0, f32 = 1, i8 = 3, bf16 = 5, u8 = 64 };

std::size_t size_of(Element type);
const char* name_of(Element type);

/// The integers that an integer type has; nothing for the others.
struct IntegerRange {
  double low, high;
};
std::optional<IntegerRange> integers_of(Element type);

// The 16-bit conversions compute with the value (ilogb, ldexp, nearbyint) where the library shifts
// bits, so that an error in one cannot hide in the other. Rounding is to nearest even; overflow
// gives infinity, or the nearest integer there is, and NaN the lowest integer.

/// Bit pattern of the value of `type` nearest to `value`.
std::uint32_t encode(Element type, double value);
double decode(Element type, std::uint32_t bits);

/// Elements in memory, at an offset in elements.
double load_element(Element type, const void* data, std::int64_t offset);
void store_element(Element type, void* data, std::int64_t offset, double value);

/// `value` as it reads back after a store.
inline double stored(Element type, double value) { return decode(type, encode(type, value)); }

}  // namespace fuseplan::test
