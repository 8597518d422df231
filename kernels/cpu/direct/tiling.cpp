// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/tiling.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

// Multiply-adds of all unrolled variants together: about 100 KB of code, 100 us to emit.
constexpr std::int64_t kMostProducts = 8000;

class RowCutter {
 public:
  RowCutter(const ConvGeometry& conv, const TileSpec& base, int pixels)
      : conv_(conv), base_(base), pixels_(pixels) {
    base_.taps = conv.filter[2];
    base_.stride = conv.stride[2];
    base_.dilation = conv.dilation[2];
  }

  Tiling unrolled() {
    cut(0, conv_.output.len[4], pixels_);
    return finish();
  }

  // In the loop all pixels of a tile share their taps: whole tiles where all taps are inside,
  // single pixels elsewhere.
  Tiling looped() {
    base_.tap_loop = true;
    const std::int64_t width = conv_.output.len[4];
    std::int64_t begin = 0;
    while (begin < width && !full(begin)) ++begin;
    std::int64_t end = begin;
    while (end < width && full(end)) ++end;
    cut(0, begin, 1);
    cut(begin, end, pixels_);
    cut(end, width, 1);
    return finish();
  }

 private:
  bool full(std::int64_t column) const {
    return taps_inside(conv_, 2, column).count() == conv_.filter[2];
  }

  // Nearly equal tiles instead of full ones and a small rest.
  void cut(std::int64_t begin, std::int64_t end, int pixels) {
    const std::int64_t total = end - begin, count = ceil_div(total, pixels);
    for (std::int64_t i = 0; i < count; ++i) {
      // Rounded so that the longer tiles come first.
      const std::int64_t from = ceil_div(total * i, count);
      const std::int64_t to = ceil_div(total * (i + 1), count);
      add(begin + from, static_cast<int>(to - from));
    }
  }

  void add(std::int64_t column, int pixels) {
    TileSpec spec = base_;
    spec.pixels = pixels;
    TapSpan taps;
    if (spec.tap_loop) {
      taps = taps_inside(conv_, 2, column);
    } else {
      taps = clip(spec, column);
    }
    const auto known = std::ranges::find(tiling_.variants, spec);
    tiling_.tiles.push_back(
        {static_cast<int>(known - tiling_.variants.begin()), pixels, column, taps});
    if (known == tiling_.variants.end()) tiling_.variants.push_back(spec);
  }

  // The bounds are drawn in to the columns that taps really use, so that equal kernels compare
  // equal.
  TapSpan clip(TileSpec& spec, std::int64_t column) const {
    const std::int64_t base = column * spec.stride - conv_.pad_lo[2];
    spec.first = -base;
    spec.last = conv_.input.len[4] - base;
    std::int64_t first = 0, last = 0, used = 0;
    for (int pixel = 0; pixel < spec.pixels; ++pixel)
      for (std::int64_t tap = 0; tap < spec.taps; ++tap) {
        if (!spec.inside(pixel, tap)) continue;
        const std::int64_t at = pixel * spec.stride + tap * spec.dilation;
        first = used == 0 ? at : std::min(first, at);
        last = used == 0 ? at + 1 : std::max(last, at + 1);
        ++used;
      }
    spec.first = first;
    spec.last = last;
    return {0, used == 0 ? 0 : static_cast<int>(spec.taps)};
  }

  // A strip's sums, and these turned, stay in the first-level cache.
  Tiling finish() {
    constexpr std::int64_t kSums = 4096, kFewest = 64;
    const std::int64_t lanes = std::int64_t{base_.vectors} * lanes_of(base_.isa);
    const std::int64_t most = std::clamp(kSums / lanes, kFewest, kStripPixels);
    for (std::size_t i = 0; i < tiling_.tiles.size(); ++i) {
      const Tile& tile = tiling_.tiles[i];
      if (tiling_.strips.empty() || tiling_.strips.back().width + tile.pixels > most)
        tiling_.strips.push_back({i, i, tile.column, 0});
      tiling_.strips.back().last = i + 1;
      tiling_.strips.back().width += tile.pixels;
    }
    return std::move(tiling_);
  }

  const ConvGeometry& conv_;
  TileSpec base_;
  int pixels_;
  Tiling tiling_;
};

}  // namespace

Tiling cut_row(const ConvGeometry& conv, const TileSpec& base, int pixels) {
  // Counting the taps of a very wide filter would itself take long.
  if (conv.filter[2] * pixels * base.vectors <= kMostProducts) {
    Tiling tiling = RowCutter(conv, base, pixels).unrolled();
    std::int64_t products = 0;
    for (const TileSpec& spec : tiling.variants) products += tile_products(spec);
    if (products <= kMostProducts) return tiling;
  }
  return RowCutter(conv, base, pixels).looped();
}

}  // namespace fuseplan::cpu
