// SPDX-License-Identifier: MIT
#include "driver/device/rotation.hpp"

#include <algorithm>

namespace fuseplan::driver {

Rotation::Rotation(fuseplanHandle_t handle, const DeviceFacts& facts, const void* input,
                   std::size_t input_bytes, std::size_t output_bytes) {
  constexpr std::size_t kMost = 64;
  const std::size_t pair = input_bytes + output_bytes + 1;
  const std::size_t wanted = std::clamp<std::size_t>(3 * facts.l2_bytes / pair + 1, 2, kMost);
  const std::size_t room = facts.free_bytes / 2 / pair;
  const auto allocate = [&](std::size_t bytes) {
    return memory_.emplace_back(handle, bytes).get();
  };
  turns_.push_back({input, allocate(output_bytes)});
  for (std::size_t i = 1; i < std::min(wanted, room); ++i) {
    void* const copy = allocate(input_bytes);
    check(fuseplanCopy(handle, copy, input, input_bytes, fuseplanCopyOnDevice));
    turns_.push_back({copy, allocate(output_bytes)});
  }
}

Rotation::Turn Rotation::next() {
  at_ = (at_ + 1) % turns_.size();
  return turns_[at_];
}

}  // namespace fuseplan::driver
