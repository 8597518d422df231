// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/status.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// fp_divisor of the dialect: n / divisor as a product, for n < 2^31.
struct Divisor {
  explicit Divisor(std::int64_t by)
      : divisor(static_cast<std::uint32_t>(by)),
        shift(static_cast<std::uint32_t>(std::bit_width(divisor - 1))) {
    const std::uint64_t excess = (std::uint64_t{1} << shift) - divisor;
    magic = static_cast<std::uint32_t>((excess << 32) / divisor + 1);
  }
  std::uint32_t divisor, magic = 0, shift, unused = 0;
};

/// Lays out the kernel's parameter as the struct fp_args of its source: members of 8 bytes first,
/// then those of 4, so that there are no gaps.
class ArgumentBlock {
 public:
  static constexpr std::size_t kMost = 4096;  ///< what every device takes

  explicit ArgumentBlock(Scratch& scratch) : bytes_(scratch.take_array<std::byte>(kMost)) {}

  template <typename T>
  void put(const T& value) {
    require(used_ + sizeof value + 8 <= kMost, Status::UnsupportedOp,
            "the kernel's arguments take more than {} bytes: the chain has too many operands",
            kMost);
    std::memcpy(bytes_ + used_, &value, sizeof value);
    used_ += sizeof value;
  }
  /// Zeros up to a multiple of `alignment`, and `bytes` more, which are the caller's to fill.
  std::byte* leave(std::size_t bytes, std::size_t alignment) {
    align(alignment);
    std::byte* place = bytes_ + used_;
    while (bytes-- > 0) put(std::byte{0});
    return place;
  }
  /// The struct's size is a multiple of its alignment. A mark behind it, which no kernel reads,
  /// shows to a device that looks for it, as the tests' does, that both sides mean as many bytes.
  static constexpr std::uint64_t kEndMark = 0x9e3779b97f4a7c15;
  std::span<const std::byte> finish(std::size_t alignment = 8) {
    align(alignment);
    std::memcpy(bytes_ + used_, &kEndMark, sizeof kEndMark);
    return {bytes_, used_};
  }

 private:
  void align(std::size_t bytes) {
    while (used_ % bytes != 0) put(std::byte{0});
  }

  std::byte* bytes_;
  std::size_t used_ = 0;
};

}  // namespace fuseplan::gpu
