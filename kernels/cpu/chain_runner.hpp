// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "expr/chain.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/portable/chain_interpreter.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Computes the slower values of a chain, once per launch.
class ChainRunner {
 public:
  /// `prologue`: the code of emit_channel_prologue for this chain; nullptr: interpret instead.
  ChainRunner(const SplitChain& chain, std::int64_t channels, const void* prologue);

  /// The frame lies in `scratch` and in this object. Padding behind the last channel is zero.
  ChainFrame prepare(const Arguments& arguments, Scratch& scratch) const;

  /// The same in steps, where operands become known a few channels at a time: everything but the
  /// channels' values, and then those of the channels [first, last).
  struct Pending {
    ChainFrame frame;
    float* values = nullptr;
    const float* const* operands = nullptr;
  };
  Pending begin(const Arguments& arguments, Scratch& scratch) const;
  void run_channels(const Pending& pending, Range range, Scratch& scratch) const;

 private:
  struct ChannelOperand {
    DType dtype;
    std::int64_t stride;  ///< in elements; 0 if one value serves all channels
    bool is_direct() const { return dtype == DType::f32 && stride == 1; }
  };
  const float* run_uniforms(std::span<const double> scalars, Scratch& scratch) const;
  const float* operand(std::size_t index, const void* raw, Scratch& scratch) const;
  void interpret(const Pending& pending, Range range, Scratch& scratch) const;

  std::int64_t channels_, stride_;
  std::size_t roots_;
  std::vector<ChannelOperand> operands_;
  std::optional<ChainInterpreter<double>> uniforms_;  ///< absent if constant
  std::vector<float> constant_uniforms_;
  std::size_t uniform_roots_;
  const void* prologue_;
  std::optional<ChainInterpreter<float>> interpreter_;
};

}  // namespace fuseplan::cpu
