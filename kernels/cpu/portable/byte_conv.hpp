// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A convolution of 8-bit integers and its chain: one to three spatial axes, any strides on every
/// tensor, groups, dilation, any padding. Sums are exact; the chain starts from them in f32.
std::unique_ptr<Program> portable_byte_conv(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
