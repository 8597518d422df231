// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {

struct FinishSpec;

/// Steps, in bytes, through the input of a tile kernel.
struct TileSteps {
  std::int64_t pixel = 0;    ///< from one output pixel's tap to the next pixel's same tap
  std::int64_t tap = 0;      ///< along the filter's width
  std::int64_t row = 0;      ///< along the filter's height
  std::int64_t plane = 0;    ///< along the filter's depth
  std::int64_t channel = 0;  ///< to the next input channel, or pair of them
  auto operator<=>(const TileSteps&) const = default;
};

/// One kernel: `pixels` neighbouring output pixels x `vectors` vectors of output channels. Tap t of
/// pixel p stands at column p * stride + t * dilation, counted from the tile's first tap, and lies
/// inside the image where first <= column < last; the others are left out of the code.
struct TileSpec {
  Isa isa{};
  int pixels = 0, vectors = 0;
  std::int64_t taps = 0;  ///< filter width
  std::int64_t stride = 1, dilation = 1;
  std::int64_t first = 0, last = 0;
  bool tap_loop = false;  ///< filter width as a loop over TileCall::taps, for wide filters
  bool pairs = false;     ///< bf16 in pairs of input channels, multiplied by vdpbf16ps; else f32
  bool odd = false;       ///< with pairs: a single channel may be left over, see TileCall::single
  /// Calls sum over all channels: none has TileCall::accumulate, and all have TileCall::finish if
  /// the kernel has a chain.
  bool all_channels = false;
  std::int64_t channels = 0;  ///< TileCall::channels of all calls; 0: any
  int asks_ahead = 0;         ///< lines a turn of what calls will read, see TileCall::ahead
  TileSteps steps;

  bool inside(int pixel, std::int64_t tap) const {
    const std::int64_t column = pixel * stride + tap * dilation;
    return first <= column && column < last;
  }
  auto operator<=>(const TileSpec&) const = default;
};

/// What a tile kernel, `void(const TileCall*)`, reads. The result is [pixel][channel] in f32, a row
/// of vectors * lanes channels per pixel.
struct TileCall {
  const float* input = nullptr;    ///< first valid plane and row, first channel, column 0
  const float* weights = nullptr;  ///< [plane][row][channel][tap][output channel], first valid row
  std::int64_t weights_ahead = 0;  ///< CoreRates::weights_ahead
  float* result = nullptr;
  const RowsCall* finish = nullptr;   ///< apply the chain instead of storing sums
  std::int64_t planes = 0, rows = 0;  ///< of the filter inside the image; both 0 if either is
  std::int64_t channels = 0;          ///< or pairs of them; at least 1 unless `single`
  std::int64_t single = 0;            ///< 1: behind the pairs there is one more channel
  std::int64_t weight_skip = 0;       ///< bytes from the end of a plane's valid rows to the next
  std::int64_t accumulate = 0;        ///< 1: add to what `result` holds
  /// With asks_ahead: the second-level cache is asked for so many lines at each turn of the loop
  /// through the channels, from here on and so many bytes further each time. Any address will do.
  std::int64_t ahead = 0, ahead_step = 0;
  std::int64_t taps = 0;      ///< with tap_loop: number of taps, at least 1
  std::int64_t tap_skip = 0;  ///< with tap_loop: bytes of weights skipped per channel
};

/// Vector registers that accumulate in a tile of this size, those of weights and pixels included,
/// fit the instruction set.
bool tile_fits(Isa isa, int pixels, int vectors);

/// Multiply-adds in the unrolled body for one channel: what decides the size of the code.
std::int64_t tile_products(const TileSpec& spec);

/// Channels that are summed in one turn of the loop: several where one is too little work to hide
/// the loop behind.
int channels_of_turn(const TileSpec& spec);

/// Bytes that a call asks for with a step of a line.
std::int64_t bytes_asked(const TileSpec& spec, const TileCall& call);

/// `finish`: how calls with TileCall::finish end; nullptr if there are none.
std::vector<std::byte> emit_tile(const TileSpec& spec, const FinishSpec* finish = nullptr);

}  // namespace fuseplan::cpu
