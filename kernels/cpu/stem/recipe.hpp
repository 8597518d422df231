// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/cpu/stem/config.hpp"

namespace fuseplan::cpu {

// Convolution of few input channels at any stride by Winograd's products on AVX2 and AVX-512: see
// README.md beside this file.

/// Why a convolution is none of this kind; nothing if it is one.
std::optional<std::string> stem_geometry_refusal(const Problem& problem);
/// Why the output or an operand cannot be walked as rows of vectors; nothing if they can.
std::optional<std::string> stem_layout_refusal(const Problem& problem, const SplitChain& chain);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<StemConfig> stem_configs(const Problem& problem, Isa isa,
                                     const CoreRates& rates = core_rates("generic"));

/// Expected speed of the default relative to direct convolution on one thread.
double stem_speedup(const Problem& problem, Isa isa,
                    const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> stem_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          const StemConfig& config);

}  // namespace fuseplan::cpu
