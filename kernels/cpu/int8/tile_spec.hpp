// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// The instruction that multiplies neighbouring channels and adds them up in a 32-bit lane.
enum class DotKind : std::uint8_t {
  pairs,  ///< vpmaddwd: two 16-bit integers, to which the input is widened
  quads,  ///< vpdpbusd (AVX512_VNNI, AVX-VNNI): four bytes, the input's without sign
};

struct Dot {
  DotKind kind{};
  int element() const { return kind == DotKind::quads ? 1 : 2; }  ///< bytes of an input element
  int depth() const { return 4 / element(); }                     ///< channels of a lane
  auto operator<=>(const Dot&) const = default;
};

/// What every output pixel sums: `planes` x `rows` x `runs` runs of `lanes` 32-bit lanes that are
/// contiguous in the input; steps in bytes from one to the next.
struct ByteReduction {
  std::int64_t planes = 1, rows = 1, runs = 1, lanes = 0;
  std::int64_t plane_step = 0, row_step = 0, run_step = 0;
  std::int64_t total() const { return planes * rows * runs * lanes; }
  auto operator<=>(const ByteReduction&) const = default;
};

/// Where pixel p of a tile lies, in bytes from the first: (p / width) * row + (p % width) * column.
struct PixelSteps {
  std::int64_t row = 0, column = 0;
  auto operator<=>(const PixelSteps&) const = default;
};

/// Which taps of a tile's pixels stand inside the image, along one axis: tap t of pixel p does
/// where low <= p * stride + t * dilation < high. As it stands, all do.
struct TapReach {
  std::int64_t stride = 0, dilation = 0, low = 0, high = 1;
  bool has(std::int64_t pixel, std::int64_t tap) const {
    const std::int64_t at = pixel * stride + tap * dilation;
    return low <= at && at < high;
  }
  auto operator<=>(const TapReach&) const = default;
};

/// One kernel: `pixels` output pixels, `width` in a row, x `vectors` vectors of output channels.
/// Products with padding are left out as far as `rows` and `columns` tell.
struct ByteTileSpec {
  Isa isa{};
  Dot dot;
  int pixels = 0, width = 0, vectors = 0;
  int last_lanes = 0;  ///< of the last vector; fewer than all where the group's channels end
  PixelSteps input;
  ByteReduction reduction;
  TapReach rows, columns;
  std::int64_t taps = 1;  ///< along the width, if `columns` tells them apart
  /// With the chain applied and stored; otherwise sums go to [pixel][channel] in i32.
  bool finished = false;

  /// To the same pixel of the next tile of a call: below it if the tile has several rows, else
  /// behind it.
  PixelSteps next() const {
    return pixels > width ? PixelSteps{pixels / width, 0} : PixelSteps{0, pixels};
  }
  bool leaves_out() const { return rows != TapReach{} || columns != TapReach{}; }
  bool has(int pixel, std::int64_t tap_row, std::int64_t tap) const {
    return rows.has(pixel / width, tap_row) && columns.has(pixel % width, tap);
  }
  std::int64_t offset(const PixelSteps& steps, int pixel) const {
    return pixel / width * steps.row + pixel % width * steps.column;
  }
  auto operator<=>(const ByteTileSpec&) const = default;
};

/// What a tile kernel, `void(ByteTileCall*)`, reads. Input, sums and chain are moved to behind the
/// last tile.
struct ByteTileCall {
  std::int64_t tiles = 0;         ///< at least 1
  const void* input = nullptr;    ///< first pixel, first tap, first channel
  const void* weights = nullptr;  ///< the tile's packed weights, see pack_weights.hpp
  void* sums = nullptr;
  RowsCall* chain = nullptr;  ///< if finished: at the first pixel and channel
};

}  // namespace fuseplan::cpu
