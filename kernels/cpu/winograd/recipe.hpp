// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/cpu/winograd/config.hpp"

namespace fuseplan::cpu {

// Fused Winograd convolution F(4x4, 3x3) in f32 on AVX-512: see README.md beside this file. The
// products are matrix multiplications by the direct convolution's tile kernels, the chain is
// applied as soon as outputs are transformed back.

/// A reason why these kernels cannot run the problem, by kind.
struct WinogradRefusal {
  enum class Kind { convolution, type, layout, size } kind;
  std::string got, need;
};
/// Nothing if they can. The instruction set is the caller's to check.
std::optional<WinogradRefusal> winograd_refusal(const Problem& problem, const SplitChain& chain);

/// Expected speed relative to direct convolution on one thread, for a problem that is not refused.
double winograd_speedup(const Problem& problem);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<WinogradConfig> winograd_configs(const Problem& problem);

std::shared_ptr<const Recipe> winograd_recipe(const Problem& problem, const SplitChain& chain,
                                              const WinogradConfig& config);

}  // namespace fuseplan::cpu
