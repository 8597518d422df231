// SPDX-License-Identifier: MIT
#pragma once

#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// Whether a problem is batch normalisation for training, forward or backward.
bool is_onednn_training(const ProblemSpec& problem);

/// Ways of batch normalisation forward in training with the chain behind it, or backward with an
/// activation's backward in front of it. What backward takes from forward beside its own tensors
/// (oneDNN's workspace, the forward output) is made once and outside the time. Layouts: the
/// caller's, and where that is channels first also reorders around blocks of 16 channels.
PeerWays onednn_training_ways(Case& problem);

}  // namespace fuseplan::driver
