// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matrix/config.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Convolutions in the tiles of AMX: 16 pixels x 64 bytes of channels are multiplied with 16 output
// channels at once, in bf16 with sums in f32, or in 8-bit integers with sums that are exact.
// Numbers of f32 and f16 are split into pieces of bf16. The chain is applied to the sums while they
// are in the first-level cache.

/// Why these kernels cannot run the problem; nothing if they can. The CPU is none of its business.
std::optional<std::string> matrix_refusal(const Problem& problem, const SplitChain& chain);

/// Whether it multiplies and adds pieces of the numbers.
bool splits_numbers(const Problem& problem);
/// How many groups of 8-bit integers are multiplied as one group, whose weights are zero between
/// channels of different groups: as many as fill a step. (A NaN would get into other groups so.)
std::int64_t merged_groups(const Problem& problem);
/// Steps in which a kernel sums an output. It reads a list of them.
std::int64_t matrix_terms(const Problem& problem);
/// What that is expected to gain over the direct kernel.
double matrix_speedup(const Problem& problem);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<MatrixConfig> matrix_configs(const Problem& problem, const SplitChain& chain);

std::shared_ptr<const Recipe> matrix_recipe(const Problem& problem, const SplitChain& chain,
                                            const MatrixConfig& config);

}  // namespace fuseplan::cpu
