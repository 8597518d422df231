// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

namespace fuseplan::emulator {

/// What the stand-in's cuTensorMapEncode functions write, and the emulator's copy engine reads.
/// Axes from the innermost outwards.
struct FakeTensorMap {
  static constexpr std::uint32_t kMagic = 0x54454e53;
  std::uint32_t magic;
  std::uint8_t rank, element_bytes, im2col, tf32, steps[4];
  std::int8_t lower[2], upper[2];
  std::uint16_t box[4];  ///< of a tiled map; channels and pixels of an im2col one
  std::uint64_t base;
  std::uint32_t length[4];
  std::uint64_t stride[3];  ///< bytes
};
static_assert(sizeof(FakeTensorMap) <= 128 && std::is_trivially_copyable_v<FakeTensorMap>);

}  // namespace fuseplan::emulator
