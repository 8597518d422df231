// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "kernels/cpu/direct/moves.hpp"
#include "kernels/cpu/direct/plan.hpp"

namespace fuseplan::cpu {

/// Packs bf16 weights in pairs of input channels, see pack_weights.hpp.
class PairPacker {
 public:
  PairPacker(const DirectPlan& plan, const void* raw);

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
    float* vector(std::int64_t index) const { return output + index * step; }
  };
  template <typename Each>
  void each_tap(const Each& each) const;
  void pack_lines(const Target& target, const std::array<std::int64_t, 3>& tap) const;
  void pack_filters(const Target& target) const;
  void gather(const Target& target, std::int64_t step,
              const std::array<std::int64_t, 3>& tap) const;
  std::int64_t source(std::int64_t channel, const std::array<std::int64_t, 3>& tap) const;

  const DirectPlan& plan_;
  const Half* raw_;
  Moves moves_;
  std::int64_t taps_;  ///< of a filter, in `source`
};

}  // namespace fuseplan::cpu
