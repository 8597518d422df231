// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "expr/chain.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/gpu/arguments.hpp"

namespace fuseplan::gpu {

/// Macros every kernel reads: FP_INPUT, FP_OUTPUT, FP_CHANNELS, FP_ELEMENTS, FP_READS_OUTPUT.
std::string chain_macros(const Problem& problem, const SplitChain& chain);

/// struct fp_args with `fields` of the kernel's own, fp_element_types, fp_channels (the values of a
/// channel) and fp_chain (an element's result), printed from the chain.
std::string chain_declarations(const SplitChain& chain, std::string_view fields);

/// The same for plans of norm_stages.hpp: fp_channels also takes the two values of a group that the
/// kernel computes. In fp_chain they are elements, or channels' values. A backward pass's sums are
/// fp_sums_channels and fp_sums, which writes both roots; `fields` has sums_uniforms at its end.
std::string training_declarations(const SplitChain& chain, std::string_view fields);

/// The members of fp_args that all kernels have: pointers in front, uniform values at the end.
class ChainArguments {
 public:
  explicit ChainArguments(const SplitChain& chain);
  void put_pointers(const cpu::Arguments& arguments, ArgumentBlock& block) const;
  /// Computed here, in double, from the launch's scalars.
  void put_uniforms(const cpu::Arguments& arguments, ArgumentBlock& block, Scratch& scratch) const;

 private:
  std::size_t uniform_count_;
  cpu::ChainRunner uniforms_;
};

}  // namespace fuseplan::gpu
