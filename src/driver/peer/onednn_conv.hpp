// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "driver/peer/onednn_call.hpp"

namespace fuseplan::driver {

/// Ways of a convolution and its chain: fused in the caller's layout; the plain convolution and the
/// chain behind it in place; reorders around a fused convolution in the layouts that oneDNN
/// prefers; each with every honest division of bias and batchnorm between bias and post-ops.
PeerWays onednn_conv_ways(Case& problem, const PeerSettings& settings);

/// Makes the fused convolution in the caller's layout, as oneDNN's cheapest of its forms.
std::function<void()> onednn_conv_creation(Case& problem);

}  // namespace fuseplan::driver
