// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/direct/block.hpp"
#include "kernels/cpu/parts.hpp"

namespace fuseplan::cpu {

/// The units of a launch, in the order they are walked, and how they are dealt out. A unit is a
/// block with one tile of output channels. A block's tiles follow one another, so that its input
/// stays near and is staged once; or a tile's blocks do, so that its weights stay near.
class Schedule {
 public:
  /// `weights_are_raw`: blocks are whole planes, so that each tile of channels is packed once.
  Schedule(const DirectPlan& plan, int threads, bool weights_are_raw = false);

  int parts() const { return parts_; }
  /// First unit of a part; parts are nearly equal in multiply-adds. first(parts()) is the end.
  std::int64_t first(int part) const;
  Block block(std::int64_t unit) const;
  std::int64_t channel_tile(std::int64_t unit) const {
    return tiles_first_ ? unit / blocks() : unit % plan_.tiles_of_channels;
  }
  std::int64_t rows() const { return rows_; }  ///< most rows of a block

 private:
  std::int64_t blocks_per_plane() const { return row_blocks_ * column_blocks_; }
  std::int64_t blocks() const { return planes_ * blocks_per_plane(); }
  std::int64_t vectors() const;
  bool reads_less_tiles_first() const;
  Place end_of(std::int64_t work, std::int64_t per_pixel) const;
  void cut_rows(std::int64_t rows);
  Block block_of_plane(std::int64_t index) const;  ///< image, group and plane left out

  const DirectPlan& plan_;
  std::int64_t planes_ = 0;  ///< output planes of all images and groups
  std::int64_t rows_ = 0, row_blocks_ = 0, column_blocks_ = 0;
  bool tiles_first_ = false;  ///< a tile of channels of all blocks before the next
  int parts_ = 1;
};

}  // namespace fuseplan::cpu
