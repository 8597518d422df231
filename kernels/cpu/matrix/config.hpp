// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

/// The tunable choices of a convolution in matrix tiles.
struct MatrixConfig {
  std::int64_t block = 0;       ///< output pixels whose input is kept near while channels change
  bool staged = false;          ///< the input is copied to scratch; otherwise read where it lies
  bool joined = false;          ///< taps along the width are copied next to one another
  bool by_row = false;          ///< tiles start where output rows do; otherwise they run on
  TileGrid grid = kSquareGrid;  ///< of a kernel's tiles, pixels x channels
  /// Tiles of sums are of channels x pixels, as planes of NCHW lie; otherwise of pixels x channels.
  bool by_plane = false;
  bool operator==(const MatrixConfig&) const = default;
};

/// "block=784,staged=1,joined=0,by_row=0,grid=2x2,by_plane=0"
std::string to_text(const MatrixConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<MatrixConfig> parse_matrix_config(std::string_view text);

}  // namespace fuseplan::cpu
