// SPDX-License-Identifier: MIT
#pragma once

#include "backend/cuda/driver.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::cuda {

/// Throws Error(UnsupportedOp) where launches take more blocks as a cluster than this driver can
/// be told.
void require_clusters(unsigned blocks);

/// Queues the call in the current context. Allocates nothing.
void enqueue(FunctionHandle function, const gpu::Call& call, unsigned grid, Stream stream);

}  // namespace fuseplan::cuda
