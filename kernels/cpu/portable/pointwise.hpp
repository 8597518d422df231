// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A plan without convolution: any rank, strides, broadcasts and floating dtypes.
std::unique_ptr<Program> portable_pointwise(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
