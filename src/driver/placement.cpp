// SPDX-License-Identifier: MIT
#include "driver/placement.hpp"

namespace fuseplan::driver {

using test::HostTensor;

Placement::~Placement() {
  for (const auto& [tensor, copy] : copies_) (void)fuseplanFree(device_, copy.memory);
}

void* Placement::place(HostTensor& tensor) {
  if (!on_device()) return tensor.data();
  const auto [found, added] = copies_.try_emplace(&tensor);
  Copy& copy = found->second;
  if (!added) return copy.data;
  // What fuseplanMalloc gives is aligned to cache lines, and so is what stands in front of the
  // data.
  static_assert(HostTensor::kGuard % 64 == 0);
  const std::size_t in_front = tensor.misaligned_bytes() + HostTensor::kGuard;
  const fuseplanStatus_t status =
      fuseplanMalloc(device_, in_front + tensor.bytes() + HostTensor::kGuard, &copy.memory);
  if (status != fuseplanStatusSuccess) copies_.erase(found);
  check(status);
  copy.data = static_cast<char*>(copy.memory) + in_front;
  upload(tensor);
  return copy.data;
}

void Placement::upload(HostTensor& tensor) const { move(tensor, fuseplanCopyToDevice); }
void Placement::download(HostTensor& tensor) const { move(tensor, fuseplanCopyToHost); }

void Placement::move(HostTensor& tensor, fuseplanCopyDirection_t direction) const {
  const auto found = copies_.find(&tensor);
  if (found == copies_.end()) return;
  const auto host = tensor.guarded();
  void* const there = static_cast<char*>(found->second.data) - HostTensor::kGuard;
  const bool up = direction == fuseplanCopyToDevice;
  check(fuseplanCopy(device_, up ? there : host.data(), up ? host.data() : there, host.size(),
                     direction));
}

}  // namespace fuseplan::driver
