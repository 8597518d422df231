// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const MatrixConfig& config) {
  return fmt::format("block={},staged={:d},joined={:d},by_row={:d},grid={}x{},by_plane={:d}",
                     config.block, config.staged, config.joined, config.by_row, config.grid.pixels,
                     config.grid.channels, config.by_plane);
}

std::optional<MatrixConfig> parse_matrix_config(std::string_view text) {
  std::string_view rest = text;
  std::int64_t block = 0;
  int staged = 0, joined = 0, by_row = 0, by_plane = 0;
  TileGrid grid;
  if (!take(rest, "block=", block) || !take(rest, ",staged=", staged) ||
      !take(rest, ",joined=", joined) || !take(rest, ",by_row=", by_row) ||
      !take(rest, ",grid=", grid.pixels) || !take(rest, "x", grid.channels) ||
      !take(rest, ",by_plane=", by_plane))
    return std::nullopt;
  const MatrixConfig config{block, staged == 1, joined == 1, by_row == 1, grid, by_plane == 1};
  if (to_text(config) != text || block < 1 || std::ranges::count(kGrids, grid) == 0)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
