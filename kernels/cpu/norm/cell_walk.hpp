// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/parallel.hpp"
#include "kernels/cpu/pointwise/walk_call.hpp"

namespace fuseplan::cpu {

/// A walk over data whose statistics belong to cells: channels (spatial), or the elements of an
/// image (per activation). Either each lane of a row is a cell, and the rows are its samples, or
/// the lanes of a row are samples of one cell. Samples are counted in units, in memory order: a row
/// of cells, or for rows of samples a piece of the rows of all cells.
struct CellWalk {
  Walk walk;
  bool per_lane = false;
  std::int64_t cells = 1;
  std::int64_t samples = 1;       ///< of each cell
  std::int64_t units = 1;         ///< that all samples make
  std::int64_t rows_of_cell = 1;  ///< along the rows axis: 0 if all rows belong to one cell
  std::int64_t pieces = 1;        ///< of a row, where it holds samples

  std::int64_t unit_bytes(std::int64_t of_cells) const;
};

/// `statistics`: where the cells lie, as a view of the output's lengths; dense, and if they are
/// channels then with stride 1. `reason` receives why the tensors cannot be visited so.
std::optional<CellWalk> plan_cell_walk(WalkTensors tensors, const View& statistics,
                                       bool are_channels, std::string* reason);

/// Calls `f(block, samples)`, the latter those of each cell, for the cells `range` of one unit, or
/// if each lane is a cell of up to `most_units` that follow one another.
template <typename F>
std::int64_t one_block(const CellWalk& cells, Range range, std::int64_t unit, std::int64_t units,
                       const F& f) {
  const Walk& walk = cells.walk;
  if (cells.per_lane) {
    const WalkBlock block{unit, units, range.first, range.last - range.first};
    f(block, units);
    return units;
  }
  const std::int64_t row = unit / cells.pieces, piece = unit % cells.pieces;
  const std::int64_t lanes = walk.lanes.len;
  const std::int64_t first = lanes * piece / cells.pieces,
                     last = lanes * (piece + 1) / cells.pieces;
  const bool one = cells.rows_of_cell == 0;
  const WalkBlock block{one ? row : row * walk.rows.len + range.first,
                        one ? 1 : range.last - range.first, first, last - first};
  f(block, last - first);
  return 1;
}

/// All units, in memory order.
template <typename F>
void each_block(const CellWalk& cells, Range range, Range units, std::int64_t most_units,
                const F& f) {
  const std::int64_t rows = cells.walk.rows.len;
  for (std::int64_t unit = units.first; unit < units.last;)
    unit += one_block(cells, range, unit,
                      std::min({most_units, units.last - unit, rows - unit % rows}), f);
}

/// All units, the last block first.
template <typename F>
void each_block_backwards(const CellWalk& cells, Range range, Range units, std::int64_t most_units,
                          const F& f) {
  const std::int64_t rows = cells.walk.rows.len;
  for (std::int64_t end = units.last; end > units.first;) {
    const std::int64_t count =
        cells.per_lane ? std::min({most_units, end - units.first, (end - 1) % rows + 1}) : 1;
    end -= one_block(cells, range, end - count, count, f);
  }
}

}  // namespace fuseplan::cpu
