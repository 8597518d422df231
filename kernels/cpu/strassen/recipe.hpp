// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/cpu/strassen/config.hpp"

namespace fuseplan::cpu {

// 1x1 convolution of f32, or of what is widened to it, on AVX2 and AVX-512 by seven products of
// halves instead of eight: see README.md beside this file.

/// Why a problem's memory cannot be walked, or has no halves; nothing if it can. Its geometry is
/// that of a 1x1 convolution.
std::optional<std::string> strassen_refusal(const Problem& problem, const SplitChain& chain,
                                            Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<StrassenConfig> strassen_configs(const Problem& problem, const SplitChain& chain,
                                             Isa isa,
                                             const CoreRates& rates = core_rates("generic"));

/// Expected speed of the default relative to eight products on one thread.
double strassen_speedup(const Problem& problem, const SplitChain& chain, Isa isa,
                        const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> strassen_recipe(const Problem& problem, const SplitChain& chain,
                                              Isa isa, const StrassenConfig& config);

}  // namespace fuseplan::cpu
