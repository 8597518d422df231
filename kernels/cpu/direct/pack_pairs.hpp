// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/memory.hpp"
#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {

/// Packs bf16 weights in pairs of input channels, see pack_weights.hpp.
class PairPacker {
 public:
  /// Keeps tables in `scratch`, which must live as long.
  PairPacker(const DirectPlan& plan, const void* raw, Scratch& scratch);

  /// Output channels [channel, channel + count) into the lanes at `output`, whose vectors are
  /// `step` 32-bit elements apart. The other lanes become zero.
  void pack(std::int64_t channel, std::int64_t count, float* output, std::int64_t step) const;

 private:
  using Half = std::uint16_t;
  /// The lanes that are being packed.
  struct Target {
    const Half* first;   ///< the first output channel's weights
    std::int64_t count;  ///< of output channels
    float* output;
    std::int64_t step;
  };
  void pack_lines(const Target& target, std::int64_t tap) const;
  void pack_filters(const Target& target) const;
  void gather(const Target& target, std::int64_t step, std::int64_t tap) const;
  float* vector(const Target& target, std::int64_t step, std::int64_t tap) const {
    return target.output + places_[step * taps_ + tap] * target.step;
  }
  bool filters_are_contiguous() const;

  const DirectPlan& plan_;
  const Half* raw_;
  Moves moves_;
  std::int64_t taps_;      ///< that the kernels see
  std::int64_t* places_;   ///< by step through the channels and tap
  std::int64_t* sources_;  ///< by channel that the kernels see and tap: behind the filter's first
};

}  // namespace fuseplan::cpu
