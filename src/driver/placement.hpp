// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "driver/api.hpp"
#include "support/tensor.hpp"

namespace fuseplan::driver {

/// Where kernels find a case's tensors: where they lie, for the CPU, or in copies on a device. A
/// copy has the tensor's canaries around it and its alignment.
class Placement {
 public:
  /// `device` nullptr: on the host.
  explicit Placement(fuseplanHandle_t device) : device_(device) {}
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  bool on_device() const { return device_ != nullptr; }
  fuseplanHandle_t device() const { return device_; }
  /// Where kernels find the data; copied there at the first call. The tensor stays where it is.
  void* place(test::HostTensor& tensor);
  /// Copies what has been placed, from the host or to it. Waits for the device's stream.
  void upload(test::HostTensor& tensor) const;
  void download(test::HostTensor& tensor) const;

 private:
  struct Copy {
    void *memory, *data;
  };
  void move(test::HostTensor& tensor, fuseplanCopyDirection_t direction) const;

  fuseplanHandle_t device_;
  std::map<const test::HostTensor*, Copy> copies_;
};

}  // namespace fuseplan::driver
