// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A convolution and its chain: one to three spatial axes, any strides on every tensor, groups,
/// dilation, any padding, f32, f16 and bf16 in any mixture.
std::unique_ptr<Program> portable_conv(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
