// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/containers.hpp"
#include "kernels/cpu/grouped/tile_kernel.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

/// Registers for a tile of channels in lanes: sums, weights, then two that input columns take in
/// turn, and the permutation.
struct Budget {
  Budget(const GroupedShape& shape, const GroupedConfig& config)
      : sums(config.rows * config.columns), others(shape.permuted ? 3 : 2) {
    const std::int64_t free = VectorCode::count(shape.isa) - sums - others;
    const std::int64_t taps = shape.g.filter[2];
    all_weights = shape.taps() <= free;
    row_weights = !all_weights && config.rows == 1 && taps <= free;
    weights = static_cast<int>(all_weights ? shape.taps() : row_weights ? taps : 0);
  }
  int sums, others, weights;
  bool all_weights, row_weights;  ///< kept in registers; otherwise read where they are used
  int temporaries() const { return weights + others; }
};

class ChannelTiles final : public TileKernel {
 public:
  explicit ChannelTiles(const GroupedPlan& plan) : TileKernel(plan), budget_(plan_, plan_.config) {}

 private:
  int most_sums() const override { return budget_.sums; }
  int sums_of(const RowTile& tile) const override { return rows() * tile.columns; }
  std::int64_t input_step() const override { return 0; }

  void start() override {
    if (masks_loads() || masks_border()) code_.masks().take();  // kWanted, which is the first
  }
  void start_block() override {
    if (masks_loads()) code_.kmovw(kWanted, ptr[w() + 8]);
  }
  /// Where loads have no other mask.
  bool masks_border() const override {
    return code_.is_avx512() && !plan_.permuted && g_.output.len[1] % plan_.step == 0;
  }
  void start_border() override { code_.kxorw(kWanted, kWanted, kWanted); }
  void end_border() override { code_.kxnorw(kWanted, kWanted, kWanted); }
  /// On AVX2 blocks read whole vectors.
  bool masks_loads() const { return plan_.permuted && code_.is_avx512(); }

  // The tile below reads these pixels next, and the second-level cache keeps them until then.
  void start_tile(const RowTile& tile) override {
    find_reads(tile);
    if (!plan_.config.ahead) return;
    const std::int64_t next = tile.columns * g_.stride[2];  // where the next tile's begin
    each_row_below([&](std::int64_t row) {
      for (std::int64_t column = tile.low; column < std::min(tile.high, next); ++column)
        if (!reads_of(tile, column).empty()) code_.prefetcht1(pixel_at(x(), row, column));
    });
  }

  /// An output that reads a column of the input through a tap.
  struct Read {
    int tap, output;
  };
  using Reads = SmallVector<Read, 8>;

  void find_reads(const RowTile& tile) {
    const std::int64_t columns = std::max<std::int64_t>(0, tile.high - tile.low);  // none beside it
    reads_.assign(static_cast<std::size_t>(columns), {});
    for (int tap = 0; tap < g_.filter[2]; ++tap)
      for (int output = 0; output < tile.columns; ++output) {
        if (!tile.reads(g_, output, tap)) continue;
        const std::int64_t column = output * g_.stride[2] + tap * g_.dilation[2];
        reads_[static_cast<std::size_t>(column - tile.low)].push_back({tap, output});
      }
  }
  const Reads& reads_of(const RowTile& tile, std::int64_t column) const {
    return reads_[static_cast<std::size_t>(column - tile.low)];
  }

  void sum_plane(const RowTile& tile) override {
    VectorCode& c = code_;
    const int taps = static_cast<int>(g_.filter[2]);
    if (plan_.permuted)
      c.vmovups(temporary_number(kPermutation), weight_at(-plan_.permutation_bytes()));
    if (budget_.all_weights)
      for (int i = 0; i < plan_.taps(); ++i)
        c.vmovups(kept(i), weight_at(static_cast<std::int64_t>(i) * plan_.tap_bytes()));
    each_input_row([&](std::int64_t row, const Hits& hits) {
      if (budget_.row_weights)
        for (int i = 0; i < taps; ++i)
          c.vmovups(kept(i), weight_at(tap_offset(hits.front().tap_row, i)));
      for (std::int64_t column = tile.low; column < tile.high; ++column)
        sum_pixel(tile, row, column, hits);
    });
  }

  void sum_pixel(const RowTile& tile, std::int64_t row, std::int64_t column, const Hits& hits) {
    const Reads& reads = reads_of(tile, column);
    if (reads.empty()) return;
    const bool is_masked = in_border(column);
    load(row, column, is_masked);
    for (const Hit& hit : hits)
      for (const auto& [tap, output] : reads) {
        const int sum = hit.row * tile.columns + output;
        is_masked ? add_masked(sum, hit.tap_row, tap) : add_product(sum, hit.tap_row, tap);
      }
  }

  void add_product(int sum, int tap_row, int tap) {
    if (budget_.all_weights) {
      code_.vfmadd231ps(sum, pixel(), kept(tap_row * static_cast<int>(g_.filter[2]) + tap));
    } else if (budget_.row_weights) {
      code_.vfmadd231ps(sum, pixel(), kept(tap));
    } else {
      code_.vfmadd231ps(sum, pixel(), weight_at(tap_offset(tap_row, tap)));
    }
  }

  void add_masked(int sum, int tap_row, int tap) {
    const int row_tap = budget_.all_weights ? tap_row * static_cast<int>(g_.filter[2]) + tap : tap;
    const Xbyak::Address at = weight_at(tap_offset(tap_row, tap));
    const bool in_register = budget_.all_weights || budget_.row_weights;
    const Vec weight = in_register ? code_.vec(kept(row_tap)) : Vec();
    const auto& factor = in_register ? static_cast<const Xbyak::Operand&>(weight) : at;
    code_.vfmadd231ps(code_.vec(sum) | kWanted, code_.vec(pixel()), factor);
  }

  void load(std::int64_t row, std::int64_t column, bool is_masked) {
    VectorCode& c = code_;
    turn_ = 1 - turn_;
    const Near from = pixel_at(input(), row, column);
    const Vec to = c.vec(pixel());
    if (is_masked) return storage_.load(to | kWanted | c.T_z, from, plan_.input);
    if (!plan_.permuted && !partial_) return storage_.load(pixel(), from, plan_.input);
    if (!plan_.permuted) return storage_.load_partial(to, from, plan_.input);
    const Vec permutation = temporary(kPermutation);
    if (masks_loads()) {
      storage_.load(to | kWanted | c.T_z, from, plan_.input);
      c.vpermps(Xbyak::Zmm(pixel()), Xbyak::Zmm(permutation.getIdx()), to);
    } else {
      storage_.load(to, from, plan_.input);
      c.vpermps(Xbyak::Ymm(pixel()), Xbyak::Ymm(permutation.getIdx()), to);
    }
  }

  std::vector<TileSum> sums_in(const RowTile& tile) override {
    std::vector<TileSum> sums;
    sums.reserve(static_cast<std::size_t>(sums_of(tile)));
    for (int row = 0; row < rows(); ++row)
      for (int column = 0; column < tile.columns; ++column)
        sums.push_back({.reg = row * tile.columns + column,
                        .place = {0, row, column},
                        .partial = partial_,
                        .optional = may_lack(row)});
    return sums;
  }

  // Registers by their numbers, which most instructions are made by.
  int pixel() const { return temporary_number(turn_); }
  int kept(int tap) const { return temporary_number(budget_.others + tap); }
  std::int64_t tap_offset(int tap_row, int tap) const {
    return (tap_row * g_.filter[2] + tap) * plan_.tap_bytes();
  }
  Near pixel_at(const Xbyak::Reg64& tile, std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * plan_.input_bytes(3) + column * plan_.input_bytes(4);
    return {tile.getIdx(), static_cast<std::int32_t>(offset)};
  }
  /// Behind the plane's permutation.
  Near weight_at(std::int64_t offset) const {
    const std::int64_t from_block = first_weight_ + plan_.permutation_bytes() + offset;
    return {w().getIdx(), static_cast<std::int32_t>(from_block)};
  }

  static constexpr int kPermutation = 2;  ///< of the temporaries, behind two pixels
  const Xbyak::Opmask kWanted{2};
  const Budget budget_;
  std::vector<Reads> reads_;  ///< of the tile being emitted, by column
  int turn_ = 0;
};

}  // namespace

std::vector<std::byte> emit_channel_tiles(const GroupedPlan& plan) {
  return ChannelTiles(plan).emit();
}

int channel_tile_registers(const GroupedShape& shape, const GroupedConfig& config, int chain) {
  const Budget budget(shape, config);
  return budget.sums + std::max(chain, budget.temporaries());
}

}  // namespace fuseplan::cpu
