// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

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
  /// body(Block, tile of channels) for all units of a part, in order. Parts are nearly equal in
  /// multiply-adds, and may begin and end at any row of a unit's block.
  template <typename F>
  void for_each_unit(int part, const F& body) const {
    const auto rows_of = [&](std::int64_t unit, std::int64_t first, std::int64_t last) {
      Block block = this->block(unit);
      block.row += first;
      block.rows = std::min(last, block.rows) - first;
      body(block, channel_tile(unit));
    };
    for_each_between(start(part), start(part + 1), rows_of);
  }
  std::int64_t rows() const { return rows_; }  ///< most rows of a block
  /// Units of a block that follow one another.
  std::int64_t units_in_turn() const { return tiles_first_ ? 1 : plan_.tiles_of_channels; }
  /// Several blocks follow one another that read the same tile's weights.
  bool repeats_tiles() const { return tiles_first_ && blocks() > 1; }
  bool is_last(const Block& block) const {
    const View& output = plan_.shape.conv.output;
    return block.image + 1 == output.len[0] && block.plane + 1 == output.len[2] &&
           block.row + block.rows == output.len[3] && block.column + block.columns == output.len[4];
  }

 private:
  Place start(int part) const;  ///< a unit, and rows of it
  Place at(std::int64_t unit, std::int64_t row) const;
  Block block(std::int64_t unit) const;
  std::int64_t channel_tile(std::int64_t unit) const {
    return tiles_first_ ? unit / blocks() : unit % plan_.tiles_of_channels;
  }
  std::int64_t blocks_per_plane() const { return row_blocks_ * column_blocks_; }
  /// Blocks that follow one another until the next plane, those of several groups if they take
  /// turns.
  std::int64_t blocks_in_turn() const { return blocks_per_plane() * groups_in_turn_; }
  std::int64_t blocks() const { return planes_ * blocks_per_plane(); }
  std::int64_t vectors() const;
  bool reads_less_tiles_first() const;
  bool groups_share_lines() const;
  std::int64_t rows_of_turn() const;
  Place end_of(std::int64_t work, std::int64_t per_pixel) const;
  void cut_rows(std::int64_t rows);
  Block block_of_turn(std::int64_t index) const;  ///< image, group and plane left out

  const DirectPlan& plan_;
  std::int64_t planes_ = 0;  ///< output planes of all images and groups
  std::int64_t rows_ = 0, row_blocks_ = 0, column_blocks_ = 0;
  std::int64_t groups_in_turn_ = 1;  ///< which are computed of a block before the next block
  bool tiles_first_ = false;         ///< a tile of channels of all blocks before the next
  /// Units are in one part each: something is made for all of it.
  bool whole_units_ = false;
  int parts_ = 1;
};

}  // namespace fuseplan::cpu
