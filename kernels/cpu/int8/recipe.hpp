// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/int8/config.hpp"
#include "kernels/cpu/int8/tile_spec.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Convolutions of 8-bit integers with output channels in vectors: a tile of pixels x channels is
// summed in registers, pixels broadcast as lanes of neighbouring channels, weights packed into one
// linear stream. Short chains are applied and stored from registers, others strip by strip.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> byte_refusal(const Problem& problem, const SplitChain& chain, Isa isa,
                                        DotKind dot);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<ByteConfig> byte_configs(const Problem& problem, Isa isa, DotKind dot);

std::shared_ptr<const Recipe> byte_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          DotKind dot, const ByteConfig& config);

}  // namespace fuseplan::cpu
