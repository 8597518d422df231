// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/cpu/winograd/config.hpp"

namespace fuseplan::cpu {

// Fused Winograd convolution with 3 x 3 filters on AVX2 and AVX-512: see README.md beside this
// file. The products are matrix multiplications by the direct convolution's tile kernels, the chain
// is applied as soon as outputs are transformed back.

/// A reason why these kernels cannot run the problem, by kind.
struct WinogradRefusal {
  enum class Kind { isa, convolution, type, layout, size } kind;
  std::string got, need;
};
/// Nothing if they can.
std::optional<WinogradRefusal> winograd_refusal(const Problem& problem, const SplitChain& chain,
                                                Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<WinogradConfig> winograd_configs(const Problem& problem, Isa isa,
                                             const CoreRates& rates = core_rates("generic"));
/// The first of it, sooner than all of it is made.
WinogradConfig first_winograd_config(const Problem& problem, Isa isa,
                                     const CoreRates& rates = core_rates("generic"));

/// Expected speed of the default relative to direct convolution on one thread.
double winograd_speedup(const Problem& problem, Isa isa,
                        const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> winograd_recipe(const Problem& problem, const SplitChain& chain,
                                              Isa isa, const WinogradConfig& config);

}  // namespace fuseplan::cpu
