// SPDX-License-Identifier: MIT
#include "kernels/cpu/row_cut.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {

std::vector<RowTile> cut_row(const ConvGeometry& g, int columns, int lanes) {
  std::vector<RowTile> tiles;
  const std::int64_t length = g.output.len[4], width = g.input.len[4];
  for (std::int64_t first = 0; first < length; first += columns) {
    RowTile tile;
    tile.first = first;
    tile.columns = static_cast<int>(std::min<std::int64_t>(columns, length - first));
    const std::int64_t computed = round_up(tile.columns, lanes);
    const std::int64_t origin = first * g.stride[2] - g.pad_lo[2];
    const std::int64_t span = (computed - 1) * g.stride[2] + (g.filter[2] - 1) * g.dilation[2] + 1;
    tile.low = std::max<std::int64_t>(0, -origin);
    tile.high = std::min(span, width - origin);
    const bool same = !tiles.empty() && tiles.back().columns == tile.columns &&
                      tiles.back().low == tile.low && tiles.back().high == tile.high;
    if (same) {
      ++tiles.back().repeat;
    } else {
      tiles.push_back(tile);
    }
  }
  return tiles;
}

int balanced_columns(std::int64_t length, int most) {
  if (length <= most) return static_cast<int>(length);
  const auto waste = [&](int columns) { return (columns - length % columns) % columns; };
  int best = most;
  for (int columns = most; columns > most / 2; --columns)
    if (waste(columns) < waste(best)) best = columns;
  return best;
}

}  // namespace fuseplan::cpu
