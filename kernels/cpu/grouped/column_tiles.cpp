// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <map>

#include "base/integer.hpp"
#include "kernels/cpu/grouped/tile_kernel.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

constexpr int kIndices = 3;  ///< stride 2: every other lane of two vectors, from lane 0, 1, 2 on

/// Registers for a tile of columns in lanes: sums, on AVX-512 the picks of every other lane, input
/// vectors, and all weights of a plane if they fit, else two that they take in turn. On AVX2, which
/// has no masks, one more for a weight that only some lanes have.
struct Budget {
  Budget(const GroupedShape& shape, const GroupedConfig& config)
      : vectors(config.columns),
        sums(shape.step * config.rows * vectors),
        indices(shape.g.stride[2] == 1 || shape.isa == Isa::avx2 ? 0 : kIndices),
        inputs(shape.g.stride[2] == 1 ? vectors : 4),
        spare(shape.isa == Isa::avx2 ? 1 : 0) {
    const std::int64_t all = shape.step * shape.taps();
    keeps_weights = all <= VectorCode::count(shape.isa) - sums - indices - inputs - spare;
    // AVX-512 can multiply by one in memory, which is as good where vectors do not share it.
    const bool shares = shape.g.stride[2] == 1 && vectors > 1;
    loads_weights = !keeps_weights && (shares || shape.isa == Isa::avx2);
    weights = keeps_weights ? static_cast<int>(all) : loads_weights ? 2 : 0;
  }
  int vectors, sums, indices, inputs, spare, weights;
  bool keeps_weights, loads_weights;
  int temporaries() const { return inputs + weights + spare; }
};

constexpr int kFirstKept = 3;  ///< of the mask registers

/// Whether the chain compares more than one thing at a time.
bool needs_masks(const Expr& body) {
  for (Ref i = 0; i < body.graph.size(); ++i)
    if (body.graph[i].leaf == Leaf::none && body.graph[i].fn == Fn::pow_) return true;
  return false;
}

class ColumnTiles final : public TileKernel {
 public:
  explicit ColumnTiles(const GroupedPlan& plan) : TileKernel(plan), budget_(plan_, plan_.config) {
    if (code_.is_avx512()) choose_masks();
  }

 private:
  int most_sums() const override { return budget_.sums; }
  int lasting_count() const override { return budget_.indices; }
  int sums_of(const RowTile& tile) const override { return plan_.step * rows() * vectors_of(tile); }
  std::int64_t input_step() const override { return plan_.input_bytes(1); }
  int vectors_of(const RowTile& tile) const {
    return (tile.columns + plan_.lanes() - 1) / plan_.lanes();
  }

  std::uint32_t all_lanes() const { return (1u << plan_.lanes()) - 1; }
  std::uint32_t last_lane() const { return 1u << (plan_.lanes() - 1); }
  /// Lanes whose column lies in the image: `first`, and `step` more from lane to lane.
  std::uint32_t lanes_inside(const RowTile& tile, std::int64_t first, std::int64_t step) const {
    std::uint32_t mask = 0;
    for (int lane = 0; lane < plan_.lanes(); ++lane) {
      const std::int64_t column = first + lane * step;
      if (tile.low <= column && column < tile.high) mask |= 1u << lane;
    }
    return mask;
  }

  // The masks that are used most stay in registers for the whole call.
  void choose_masks() {
    std::map<std::uint32_t, std::int64_t> uses = mask_uses();
    uses.erase(0);
    uses.erase(all_lanes());
    for (int k = kFirstKept; k <= 7 && !uses.empty() && !needs_masks(plan_.finish.body); ++k) {
      const auto most = std::ranges::max_element(
          uses, [](const auto& a, const auto& b) { return a.second < b.second; });
      masks_.emplace(most->first, k);
      uses.erase(most);
    }
  }
  std::map<std::uint32_t, std::int64_t> mask_uses() const {
    std::map<std::uint32_t, std::int64_t> uses;
    for (const RowTile& tile : cut_row(g_, plan_.tile_columns(), plan_.lanes()))
      for (int v = 0; v < vectors_of(tile); ++v) {
        for (int tap = 0; tap < g_.filter[2]; ++tap) uses[tap_mask(tile, v, tap)] += tile.repeat;
        if (g_.stride[2] == 1) continue;
        for (const Pick& pick : picks(tile, v)) {
          if (pick.lacks_last) uses[last_lane()] += tile.repeat;
          if (!pick.loads) continue;
          uses[lanes_inside(tile, pick.base, 1)] += tile.repeat;
          uses[lanes_inside(tile, pick.base + plan_.lanes(), 1)] += tile.repeat;
        }
      }
    return uses;
  }

  void start() override {
    VectorCode& c = code_;
    if (!masks_.empty()) take_masks();
    for (const auto& [mask, k] : masks_) {
      c.mov(eax, mask);
      c.kmovw(Xbyak::Opmask(k), eax);
    }
    for (int i = 0; i < budget_.indices; ++i) c.vmovups(index(i), ptr[rip + index_tables_[i]]);
  }
  // What the chain has left is enough for one comparison at a time.
  void take_masks() {
    for (int k = 2; k <= 7; ++k) code_.masks().take();
    for (int k = kFirstKept - 1; k >= 2; --k) code_.masks().give(k);
  }
  void emit_tables() override {
    if (lane_masks_.empty() && budget_.indices == 0) return;
    code_.align(64);
    for (auto& [lanes, label] : lane_masks_) {
      code_.L(label);
      for (int lane = 0; lane < plan_.lanes(); ++lane)
        code_.dd((lanes >> lane & 1u) != 0 ? 0xffffffffu : 0u);
    }
    for (int first = 0; first < budget_.indices; ++first) {
      code_.L(index_tables_[first]);
      for (int lane = 0; lane < 16; ++lane) code_.dd(static_cast<std::uint32_t>(2 * lane + first));
    }
  }
  Xbyak::Opmask opmask(std::uint32_t mask) {
    if (const auto kept = masks_.find(mask); kept != masks_.end())
      return Xbyak::Opmask(kept->second);
    code_.mov(eax, mask);
    code_.kmovw(k2, eax);
    return k2;
  }

  /// AVX2: all bits of those lanes.
  Xbyak::Address lane_mask(std::uint32_t mask) { return ptr[rip + lane_masks_[mask]]; }

  std::uint32_t tap_mask(const RowTile& tile, int v, std::int64_t tap) const {
    const std::int64_t first = std::int64_t{v} * plan_.lanes() * g_.stride[2];
    return lanes_inside(tile, first + tap * g_.dilation[2], g_.stride[2]);
  }
  /// Stride 2: a tap's vector is every other lane, from `index` on, of the two vectors at column
  /// `base`, which neighbouring taps share. The last lane may be the first behind them; AVX2, which
  /// would have to insert it, takes two other vectors then: for a tap that has them alone those
  /// that end with the last lane.
  struct Pick {
    int tap = 0;
    std::int64_t base = 0;
    int index = 0;
    bool loads = true;  ///< the first that reads them
    bool lacks_last = false;
  };
  std::vector<Pick> picks(const RowTile& tile, int v) const {
    std::vector<Pick> found;
    for (int tap = 0; tap < g_.filter[2]; ++tap) {
      const std::uint32_t mask = tap_mask(tile, v, tap);
      if (mask == 0) continue;
      const std::int64_t column = std::int64_t{2} * v * plan_.lanes() + tap * g_.dilation[2];
      Pick pick{.tap = tap, .base = column};
      const bool is_alone = tap + 1 == g_.filter[2] || g_.dilation[2] > 1;
      if (!code_.is_avx512() && is_alone) pick = {.tap = tap, .base = column - 1, .index = 1};
      const int shared = code_.is_avx512() ? kIndices : 2;
      if (!found.empty() && column - found.back().base < shared) {
        pick.base = found.back().base;
        pick.index = static_cast<int>(column - pick.base);
        pick.loads = false;
        pick.lacks_last = pick.index == 2 && mask >= last_lane();
        // Only f32 can be loaded into a single lane.
        if (pick.lacks_last && plan_.input != DType::f32) pick = {.tap = tap, .base = column};
      }
      found.push_back(pick);
    }
    return found;
  }

  // Lines that will be written come while sums are made. Long rows are left to the hardware, which
  // had them in 0.9 of the time.
  void start_tile(const RowTile& tile) override {
    constexpr int kShortRow = 2;
    const bool passes = plan_.finish.streaming || plan_.finish.drains;
    if (vectors_of(tile) > kShortRow || passes) return;
    const std::int64_t bytes =
        tile.columns * static_cast<std::int64_t>(size_of(plan_.finish.output.dtype));
    const auto expect = [&](bool optional) {
      for (int k = 0; k < plan_.step; ++k)
        for (int row = 0; row < rows(); ++row) {
          if (may_lack(row) != optional) continue;
          const Near line = pointers_.output({k, row, 0});
          for (std::int64_t at = 0; at < bytes; at += kCacheLine)
            code_.prefetchw({line.base, line.displacement + static_cast<int>(at)});
        }
    };
    expect(false);
    if (plan_.rest_rows() == 0) return;
    const VectorCode::Forward lacking = skip_in_last_tile();
    expect(true);
    code_.land(lacking);
  }

  // Hardware sees too few neighbouring lines of a small plane before it ends: 14 x 14 pixels of 576
  // channels took a third of the time at batch 16, when they came from behind the second-level
  // cache. Below the last rows of a plane lie the next one's first.
  void expect_rows(const RowTile& tile) {
    const std::int64_t bytes = tile.columns * g_.stride[2] * plan_.input_bytes(4);
    const std::int64_t further = rows_further();
    each_row_below([&](std::int64_t row) {
      for (std::int64_t at = 0; at < bytes; at += kCacheLine) {
        const std::int64_t offset = (row + further) * plan_.input_bytes(3) + at;
        const Xbyak::Address line = ptr[input() + static_cast<int>(offset)];
        further == 0 ? code_.prefetcht0(line) : code_.prefetcht1(line);
      }
    });
  }
  // A depthwise tile takes less time than lines do to come from behind the second-level cache. Of
  // small planes those that are asked for so far ahead gain nothing.
  std::int64_t rows_further() const {
    constexpr std::int64_t kLargePlane = 8 << 10, kAhead = 8 << 10;  // bytes
    const std::int64_t row = plan_.input_bytes(3);
    const bool large = row > 0 && g_.input.len[3] * row >= kLargePlane;
    const bool far = g_.input.elements() * plan_.input_bytes(4) >= kFarBytes;
    return g_.group_inputs == 1 && large && far ? ceil_div(kAhead, row) : 0;
  }

  void sum_plane(const RowTile& tile) override {
    expect_rows(tile);
    if (budget_.keeps_weights)
      for (int i = 0; i < plan_.step * plan_.taps(); ++i)
        code_.vbroadcastss(kept(i), ptr[w() + static_cast<int>(first_weight_ + 4 * i)]);
    each_input_row([&](std::int64_t row, const Hits& hits) {
      if (g_.stride[2] == 1) {
        for (int tap = 0; tap < g_.filter[2]; ++tap) sum_tap(tile, row, tap, hits);
      } else {
        for (int v = 0; v < vectors_of(tile); ++v) sum_pairs(tile, row, v, hits);
      }
    });
  }

  // Lanes whose tap lies outside the image take no part, so that a weight that is infinite or NaN
  // does not meet a padding zero.
  void sum_tap(const RowTile& tile, std::int64_t row, int tap, const Hits& hits) {
    const int vectors = vectors_of(tile);
    for (int v = 0; v < vectors; ++v)
      load(temporary(v), row, v * plan_.lanes() + tap * g_.dilation[2], tap_mask(tile, v, tap));
    for (const Hit& hit : hits)
      for (int k = 0; k < plan_.step; ++k) {
        const Weight weight = weight_of(tile, {hit.tap_row, tap, k});
        for (int v = 0; v < vectors; ++v)
          add_product(sum_at(tile, k, hit.row, v), temporary(v), tap_mask(tile, v, tap), weight);
      }
  }

  void sum_pairs(const RowTile& tile, std::int64_t row, int v, const Hits& hits) {
    for (const Pick& pick : picks(tile, v)) {
      if (pick.loads)
        for (int half : {0, 1}) {
          const std::int64_t column = pick.base + half * plan_.lanes();
          load(temporary(half), row, column, lanes_inside(tile, column, 1));
        }
      turn_ = 1 - turn_;
      const Vec picked = temporary(2 + turn_);
      every_other_lane(picked, pick.index);
      if (pick.lacks_last)
        code_.vbroadcastss(picked | opmask(last_lane()), at(row, pick.base + 2 * plan_.lanes()));
      for (const Hit& hit : hits)
        for (int k = 0; k < plan_.step; ++k) {
          add_product(sum_at(tile, k, hit.row, v), picked, tap_mask(tile, v, pick.tap),
                      weight_of(tile, {hit.tap_row, pick.tap, k}));
        }
    }
  }

  /// Of the first two temporaries, from lane `first` on.
  void every_other_lane(const Vec& d, int first) {
    VectorCode& c = code_;
    if (c.is_avx512()) {
      c.vmovaps(d, index(first));
      return c.vpermi2ps(d, temporary(0), temporary(1));
    }
    // In halves of a vector: a0 a2 b0 b2 | a4 a6 b4 b6, then pairs into place.
    c.vshufps(d, temporary(0), temporary(1), first == 0 ? 0x88 : 0xdd);
    c.vpermpd(Xbyak::Ymm(d.getIdx()), Xbyak::Ymm(d.getIdx()), 0xd8);
  }

  Xbyak::Address at(std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * plan_.input_bytes(3) + column * plan_.input_bytes(4);
    return ptr[input() + static_cast<int>(offset)];
  }
  void load(const Vec& d, std::int64_t row, std::int64_t column, std::uint32_t mask) {
    VectorCode& c = code_;
    if (mask == 0) return c.vxorps(d, d, d);
    const Xbyak::Address from = at(row, column);
    if (mask == all_lanes()) return storage_.load(d, from, plan_.input);
    if (c.is_avx512()) return storage_.load(d | opmask(mask) | c.T_z, from, plan_.input);
    if (plan_.input != DType::f32) {
      const int first = std::countr_zero(mask);
      return storage_.load_narrow_lanes(d, first, at(row, column + first), std::popcount(mask),
                                        plan_.input);
    }
    c.vmovups(d, lane_mask(mask));
    c.vmaskmovps(d, d, from);
  }

  struct Weight {
    int tap_row, tap, output;
    bool loaded = false;
  };
  /// Loads it where it must be, or where several vectors share it.
  Weight weight_of(const RowTile& tile, Weight weight) {
    if (!budget_.loads_weights || (code_.is_avx512() && vectors_of(tile) == 1)) return weight;
    weight_turn_ = 1 - weight_turn_;
    weight.loaded = true;
    code_.vbroadcastss(temporary(budget_.inputs + weight_turn_),
                       weight_at(weight.tap_row, weight.tap, weight.output));
    return weight;
  }
  void add_product(const Vec& sum, const Vec& x, std::uint32_t mask, const Weight& weight) {
    VectorCode& c = code_;
    if (mask == 0) return;
    const bool all = mask == all_lanes();
    if (!budget_.keeps_weights && !weight.loaded) {
      const Xbyak::Address at = weight_at(weight.tap_row, weight.tap, weight.output);
      return c.vfmadd231ps(all ? sum : sum | opmask(mask), x, c.ptr_b[at.getRegExp()]);
    }
    const Vec factor = factor_of(weight);
    if (all || c.is_avx512()) return c.vfmadd231ps(all ? sum : sum | opmask(mask), x, factor);
    c.vandps(spare(), factor, lane_mask(mask));
    c.vfmadd231ps(sum, x, spare());
  }
  Vec factor_of(const Weight& weight) const {
    if (!budget_.keeps_weights) return temporary(budget_.inputs + weight_turn_);
    const auto tap = static_cast<int>(weight.tap_row * g_.filter[2] + weight.tap);
    return kept(tap * plan_.step + weight.output);
  }

  std::vector<TileSum> sums_in(const RowTile& tile) override {
    VectorCode& c = code_;
    const int vectors = vectors_of(tile), last = tile.columns % plan_.lanes();
    if (last != 0) {
      c.mov(count(), last);
      storage_.begin_partial(count(), last);
    }
    std::vector<TileSum> sums;
    for (int k = 0; k < plan_.step; ++k)
      for (int row = 0; row < rows(); ++row)
        for (int v = 0; v < vectors; ++v)
          sums.push_back({.reg = sum_at(tile, k, row, v).getIdx(),
                          .place = {k, row, v * plan_.lanes()},
                          .partial = last != 0 && v + 1 == vectors,
                          .optional = may_lack(row)});
    return sums;
  }

  Vec sum_at(const RowTile& tile, int output, int row, int v) const {
    return sum((output * rows() + row) * vectors_of(tile) + v);
  }
  Vec index(int first) const { return lasting(first); }
  Vec kept(int i) const { return temporary(budget_.inputs + i); }
  Vec spare() const { return temporary(budget_.inputs + budget_.weights); }
  Xbyak::Address weight_at(int tap_row, int tap, int output) const {
    const std::int64_t number = (tap_row * g_.filter[2] + tap) * plan_.step + output;
    return ptr[w() + static_cast<int>(first_weight_ + 4 * number)];
  }

  const Budget budget_;
  std::map<std::uint32_t, int> masks_;                ///< number of the register that keeps one
  std::map<std::uint32_t, Xbyak::Label> lane_masks_;  ///< AVX2
  Xbyak::Label index_tables_[kIndices];
  int turn_ = 0, weight_turn_ = 0;
};

}  // namespace

std::vector<std::byte> emit_column_tiles(const GroupedPlan& plan) {
  return ColumnTiles(plan).emit();
}

int column_tile_registers(const GroupedShape& shape, const GroupedConfig& config, int chain) {
  const Budget budget(shape, config);
  return budget.sums + budget.indices + std::max(chain, budget.temporaries());
}

}  // namespace fuseplan::cpu
