// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/emit/finish_spec.hpp"

namespace fuseplan::cpu {

/// A vector of sums in a register of the pool.
struct TileSum {
  int reg = 0;
  TilePlace place;
  bool partial = false;  ///< only its first lanes exist, as begun in the storage
  /// An earlier sum, whose elements end where its own begin: pairs of 16 or 8 bits, or fours of 8
  /// bits, are stored together.
  int before = -1;
  bool optional = false;  ///< not there in every tile that the code is for
};

/// The sums of a tile as turns of a loop, of a pixel each where lanes are channels, of a channel
/// each where they are pixels.
struct SumTurns {
  std::vector<int> regs;       ///< of all sums, turn by turn
  std::vector<TileSum> first;  ///< turn; `before` counts within it
  TilePlace step;              ///< from a turn's sums to the next one's
  std::size_t turns() const { return regs.size() / first.size(); }
};

/// Nothing if the turns are not alike.
std::optional<SumTurns> turns_of(std::span<const TileSum> sums, bool lanes_are_channels);

}  // namespace fuseplan::cpu
