// SPDX-License-Identifier: MIT
#include "driver/device/rotation.hpp"

#include <algorithm>

namespace fuseplan::driver {

Rotation::Rotation(fuseplanHandle_t handle, const DeviceFacts& facts, const void* input,
                   std::size_t input_bytes, std::size_t output_bytes)
    : handle_(handle) {
  constexpr std::size_t kMost = 64;
  const std::size_t pair = input_bytes + output_bytes + 1;
  const std::size_t wanted = std::clamp<std::size_t>(3 * facts.l2_bytes / pair + 1, 2, kMost);
  const std::size_t room = facts.free_bytes / 2 / pair;
  turns_.push_back({input, allocate(output_bytes)});
  for (std::size_t i = 1; i < std::min(wanted, room); ++i) {
    void* copy = allocate(input_bytes);
    check(fuseplanCopy(handle_, copy, input, input_bytes, fuseplanCopyOnDevice));
    turns_.push_back({copy, allocate(output_bytes)});
  }
}

Rotation::~Rotation() {
  for (void* memory : memory_) (void)fuseplanFree(handle_, memory);
}

void* Rotation::allocate(std::size_t bytes) {
  memory_.reserve(memory_.size() + 1);
  void* memory = nullptr;
  check(fuseplanMalloc(handle_, bytes, &memory));
  memory_.push_back(memory);
  return memory;
}

Rotation::Turn Rotation::next() {
  at_ = (at_ + 1) % turns_.size();
  return turns_[at_];
}

}  // namespace fuseplan::driver
