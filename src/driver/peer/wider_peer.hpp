// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// Ways of a peer that lacks the problem's 16-bit type: those of the same problem with all tensors
/// in f32, of the same values. Their names say so.
PeerWays wider_ways(Case& problem, const std::function<PeerWays(Case& wider)>& ways_of);

}  // namespace fuseplan::driver
