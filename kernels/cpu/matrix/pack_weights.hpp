// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "kernels/cpu/matrix/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, read strictly linearly by the tile kernels:
///   [group][tile of channels][step][tap][vector of channels][piece]{[lane of the step][output
///   channel]}
/// where a lane is 4 bytes of neighbouring input channels; by plane {[output channel][lane]}. Zeros
/// stand behind the last input and output channel.
/// In elements, where the channels of a tap lie, from the tap.
struct TapChannels {
  std::vector<std::int64_t> offsets;
  bool together = true;  ///< one behind the other
};

class MatrixPacker {
 public:
  /// Refers to the plan.
  explicit MatrixPacker(const MatrixPlan& plan);

  std::size_t size() const;  ///< bytes
  void pack(const void* raw, void* packed, const Parallel& parallel) const;
  /// One tile of channels, to where it begins.
  void pack_tile(const void* raw, std::int64_t group, std::int64_t tile, std::byte* packed) const;

 private:
  using Pack = void (*)(const MatrixPlan&, const TapChannels&, const void*, std::int64_t,
                        std::int64_t, const Range&, std::byte*);
  const MatrixPlan& plan_;
  TapChannels channels_;
  Pack pack_;
};

/// Plans with equal formats read equal packed weights.
std::string packed_matrix_weights_format(const MatrixPlan& plan);

}  // namespace fuseplan::cpu
