// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuseplan::cpu {

/// What becomes of an element of input on its way to where kernels read it: other bits are turned,
/// or it is widened.
template <typename SourceElement, typename StoredElement, unsigned kFlippedBits = 0>
struct ElementForm {
  using Source = SourceElement;
  using Stored = StoredElement;
  static constexpr auto kZero = static_cast<Stored>(kFlippedBits);

  static Stored of(Source value) { return static_cast<Stored>(value ^ kZero); }

  static constexpr std::int64_t kRun = 16 / sizeof(Source);
  // Vectors that every baseline has (GNU extension: gcc, clang, every target).
  typedef Source Run __attribute__((vector_size(16)));
  static void put(Run values, Stored* to) {
    typedef Stored Wide __attribute__((vector_size(kRun * sizeof(Stored))));
    const Wide stored = __builtin_convertvector(values, Wide) ^ kZero;
    std::memcpy(to, &stored, sizeof stored);
  }
};

using PlainByte = ElementForm<std::uint8_t, std::uint8_t>;
using ShiftedByte = ElementForm<std::uint8_t, std::uint8_t, 0x80>;  ///< x + 128 of a signed x
using WideUnsigned = ElementForm<std::uint8_t, std::int16_t>;
using WideSigned = ElementForm<std::int8_t, std::int16_t>;
using PlainHalf = ElementForm<std::uint16_t, std::uint16_t>;
using PlainWord = ElementForm<std::uint32_t, std::uint32_t>;

}  // namespace fuseplan::cpu
