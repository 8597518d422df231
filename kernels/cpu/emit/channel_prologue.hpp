// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Machine code for SplitChain::channels: `void prologue(const RowsCall*)` with
///   elements     the operands by SplitChain::channels_in index, one float a channel
///   uniforms     roots of SplitChain::uniforms
///   output       root r of channel k goes to float [r][k]; output_step bytes from root to root
///   lanes        channels; rows is 1
/// `channels`: what `lanes` is in every call; 0: any.
/// Nothing beyond the last channel is read or written. Empty if there are no roots.
std::vector<std::byte> emit_channel_prologue(const SplitChain& chain, Isa isa,
                                             std::int64_t channels);

}  // namespace fuseplan::cpu
