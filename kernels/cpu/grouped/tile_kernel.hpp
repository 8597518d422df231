// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cpu/emit/tile_finisher.hpp"
#include "kernels/cpu/grouped/call.hpp"
#include "kernels/cpu/grouped/plan.hpp"
#include "kernels/cpu/row_cut.hpp"

namespace fuseplan::cpu {

/// `void kernel(const GroupedCall*)`: loops over blocks of channels, tiles of rows and tiles of
/// columns, with all sums of a tile in registers until the chain has been applied to them. What a
/// tile is made of is for the two forms to say. Channels in lanes are computed tile by tile, all
/// blocks of each: so neighbouring lines are read one after the other, which hardware fetches
/// ahead.
class TileKernel {
 public:
  explicit TileKernel(const GroupedPlan& plan);
  virtual ~TileKernel() = default;
  TileKernel(const TileKernel&) = delete;
  std::vector<std::byte> emit();

 protected:
  /// One row of filter taps that an output row of the tile has in an input row.
  struct Hit {
    int row, tap_row;
  };
  using Hits = SmallVector<Hit, 8>;

  virtual int most_sums() const = 0;  ///< registers
  /// Registers behind them that keep something from tile to tile.
  virtual int lasting_count() const { return 0; }
  virtual void start() {}        ///< once per call
  virtual void start_block() {}  ///< x() and w() at the block
  /// Before its sums.
  virtual void start_tile(const RowTile&) {}
  virtual void emit_tables() {}  ///< behind the code
  /// Whether masks can leave out columns in_border(): then a row's first tile is made by the
  /// code of the next ones. The form sets them so before a row, and back behind that tile.
  virtual bool masks_border() const { return false; }
  virtual void start_border() {}
  virtual void end_border() {}
  virtual int sums_of(const RowTile& tile) const = 0;
  /// Adds one input channel of the group at one depth. input() and w() point at it.
  virtual void sum_plane(const RowTile& tile) = 0;
  /// For the finisher; those of rows that a plane's last tile may lack are optional.
  virtual std::vector<TileSum> sums_in(const RowTile& tile) = 0;
  /// Bytes from one input channel of a group to the next that sum_plane() reads.
  virtual std::int64_t input_step() const = 0;

  /// Emits `body` for every input row that the tile reads, guarded by whether the row exists.
  template <typename Body>
  void each_input_row(const Body& body) {
    for (std::int64_t row = 0; row <= last_input_row(); ++row) {
      const Hits hits = hits_of(row);
      if (hits.empty()) continue;
      const auto missing = skip_missing_row(row);
      body(row, hits);
      if (missing) code_.land(*missing);
    }
  }

  /// Calls `body` for every input row that the tile below reads and this one does not.
  template <typename Body>
  void each_row_below(const Body& body) const {
    const std::int64_t step = rows() * g_.stride[1], last = last_input_row();
    for (std::int64_t row = std::max<std::int64_t>(0, last + 1 - step); row <= last; ++row)
      if (!hits_of(row).empty()) body(row + step);
  }
  /// Counted from the tile's first.
  std::int64_t last_input_row() const {
    return (rows() - 1) * g_.stride[1] + (g_.filter[1] - 1) * g_.dilation[1];
  }

  /// Of output in a tile. A plane's last may lack some, whose sums are made of the input rows that
  /// there are and dropped.
  int rows() const { return plan_.config.rows; }
  bool may_lack(int row) const;
  /// Jumps, in a plane's last tile, if that lacks rows.
  VectorCode::Forward skip_in_last_tile();
  /// In the first tile of a row, columns before this one lie beside the image.
  bool in_border(std::int64_t column) const { return column < image_begins_; }

  Vec sum(int index) const { return code_.vec(index); }
  Vec lasting(int index) const { return code_.vec(most_sums() + index); }
  /// Behind those; the chain may use them too.
  Vec temporary(int index) const { return code_.vec(temporary_number(index)); }
  int temporary_number(int index) const { return most_sums() + lasting_count() + index; }
  static Xbyak::Reg64 x() { return Xbyak::util::r8; }  ///< input at the tile
  static Xbyak::Reg64 w() { return Xbyak::util::r9; }  ///< weights
  static Xbyak::Reg64 input() { return Xbyak::util::rsi; }
  /// Counts the lanes of partial vectors.
  static Xbyak::Reg64 count() { return Xbyak::util::r15; }

  const GroupedPlan& plan_;
  const ConvGeometry& g_;
  VectorCode code_;
  ChainPointers pointers_;
  Storage storage_;
  TileFinisher finisher_;
  bool partial_ = false;           ///< channels in lanes: fewer than a vector of them
  std::int64_t first_weight_ = 0;  ///< bytes from w() to the plane being summed

 private:
  enum Word { kInput, kWeights, kLeft, kRows, kDepths, kWords };
  Xbyak::Address word(Word which) { return code_.stack_word(words_ + which); }
  Hits hits_of(std::int64_t row) const;
  std::optional<VectorCode::Forward> skip_missing_row(std::int64_t row);
  bool blocks_last() const { return plan_.lanes_are_channels; }
  Xbyak::Reg64 call_chain();
  template <typename Body>
  void each_block(const Body& body);
  template <typename Body>
  void blocks(bool partial, const Body& body);
  void sweep_rows();
  void sweep_row();
  void all_blocks(const RowTile& tile);
  void one_tile(const RowTile& tile);
  void move(std::int64_t bytes, const TilePlace& by);
  void planes(const RowTile& tile);

  int words_ = 0;
  std::int64_t image_begins_ = 0;  ///< column of the tile being emitted, in its first repetition
};

std::vector<std::byte> emit_channel_tiles(const GroupedPlan& plan);
std::vector<std::byte> emit_column_tiles(const GroupedPlan& plan);
/// Vector registers that a tile needs, with a chain that needs `chain` of them besides the sums.
int channel_tile_registers(const GroupedShape& shape, const GroupedConfig& config, int chain);
int column_tile_registers(const GroupedShape& shape, const GroupedConfig& config, int chain);

}  // namespace fuseplan::cpu
