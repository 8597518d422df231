// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A plan with batch normalisation for training, forward or backward: any rank, strides, broadcasts
/// and floating dtypes.
std::unique_ptr<Program> portable_norm(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
