// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>

#include "driver/case.hpp"
#include "driver/cudnn/graph_spec.hpp"
#include "driver/cudnn/on_device.hpp"

namespace fuseplan::driver {

/// y = factor * x + term, a channel each.
struct AffineValues {
  std::vector<double> factor, term;
};

/// A run of per-channel ops as one: computed once, as users of cuDNN do before they execute.
AffineValues values_of(const ChannelAffine& affine, Case& problem);

/// What a graph's parameters are bound to, on the handle's device; nullptr: on the host.
class GraphParameters {
 public:
  GraphParameters(fuseplanHandle_t handle, Case& problem, const GraphSpec& spec,
                  const GraphForm& form);
  /// Of weights, scale, shift and other tensors.
  void* at(const GraphTensor& tensor);

 private:
  using Key = std::pair<GraphRole, std::size_t>;
  void place(const GraphTensor& tensor, test::HostTensor data);

  fuseplanHandle_t handle_;
  std::map<Key, std::unique_ptr<OnDevice>> tensors_;
};

}  // namespace fuseplan::driver
