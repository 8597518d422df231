// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// oneDNN 3 on the CPU, used at its best: primitives made once, weights reordered once into the
/// format it prefers, post-ops fused, scratchpads of the caller's.
std::unique_ptr<Peer> make_onednn();

}  // namespace fuseplan::driver
