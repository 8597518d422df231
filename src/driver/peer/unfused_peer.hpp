// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// fuseplan itself, op by op: what fusion gains.
std::unique_ptr<Peer> make_unfused_peer(fuseplanHandle_t handle);

}  // namespace fuseplan::driver
