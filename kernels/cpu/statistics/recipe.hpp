// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"
#include "plan/problem.hpp"

namespace fuseplan::cpu {

// A plan that ends with statistics of its output: any kernel of the rest of it, run a few images at
// a time, and the moments of what it wrote while that is in the cache.

/// The part of the plan that such a kernel runs: a few images of the batch, and in place of the
/// statistics an op that does nothing.
struct FewImages {
  FewImages(const Problem& problem, const SplitChain& chain);
  std::int64_t count;  ///< divides the batch
  Problem problem;
  SplitChain chain;
};

/// `inner` runs a FewImages.
std::shared_ptr<const Recipe> statistics_recipe(const Problem& problem, const SplitChain& chain,
                                                std::shared_ptr<const Recipe> inner, Isa isa);

}  // namespace fuseplan::cpu
