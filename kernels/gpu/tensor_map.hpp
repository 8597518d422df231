// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"

namespace fuseplan::gpu {

/// How Hopper's copy engine sees a tensor: what cuTensorMapEncodeTiled and -Im2col are told. Axes
/// run from the innermost outwards. Rows in shared memory are swizzled in spans of 128 bytes, and
/// what lies outside the tensor reads as zeros. Maps hold a pointer, so launching encodes them.
struct TensorMap {
  static constexpr std::size_t kBytes = 128, kAlignment = 64;

  std::byte* to = nullptr;  ///< where the encoded map goes: a place in the call's arguments
  const void* base = nullptr;
  DType dtype{};  ///< f16, bf16, or f32, which copies round to tf32, ties to even
  unsigned rank = 0;
  std::array<std::uint64_t, 4> length{1, 1, 1, 1};
  std::array<std::uint64_t, 3> stride{};          ///< bytes, of all axes but the innermost
  std::array<std::uint32_t, 4> step{1, 1, 1, 1};  ///< from element to element of a copy
  std::array<std::uint32_t, 4> box{1, 1, 1, 1};   ///< of a copy, unless it is im2col

  bool im2col = false;  ///< of four axes; boxes are of `channels` x `pixels`
  std::uint32_t channels = 0, pixels = 0;
  std::array<int, 2> lower{}, upper{};  ///< corners of where pixels run, from the image's own
};

}  // namespace fuseplan::gpu
