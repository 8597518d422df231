// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// Neighbouring output columns that one piece of code computes, and how often it does so in a row.
/// Column p of a tile reads tap kw iff the input column exists: low <= p * stride + kw * dilation <
/// high. Equal tiles share their code, so a row is a left border, a loop, a right border.
struct RowTile {
  std::int64_t first = 0;  ///< output column of the first repetition
  int columns = 0;
  std::int64_t low = 0, high = 0;
  std::int64_t repeat = 1;

  bool reads(const ConvGeometry& g, std::int64_t column, std::int64_t tap) const {
    const std::int64_t at = column * g.stride[2] + tap * g.dilation[2];
    return low <= at && at < high;
  }
};

/// Cuts the output row into tiles of `columns`; the last may be shorter. Limits are those of tiles
/// whose width is rounded up to `lanes` columns.
std::vector<RowTile> cut_row(const ConvGeometry& g, int columns, int lanes);

/// The tile width up to `most` that leaves the shortest last tile unfilled least.
int balanced_columns(std::int64_t length, int most);

}  // namespace fuseplan::cpu
