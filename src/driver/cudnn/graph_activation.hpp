// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "driver/cudnn/graph_spec.hpp"

namespace fuseplan::driver {

/// One node of an activation: a mode over the value so far; `times_input` multiplies it by what the
/// activation read instead.
struct ActivationNode {
  CudnnPointwise mode;
  std::vector<std::pair<CudnnAttribute, double>> parameters;
  bool times_input = false;
};

/// What cuDNN computes an activation by; nothing for the identity. Throws std::invalid_argument for
/// one that it has no mode for.
std::vector<ActivationNode> activation_nodes(const OpSpec& op);

}  // namespace fuseplan::driver
