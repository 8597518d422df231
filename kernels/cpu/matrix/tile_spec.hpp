// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {

/// What is multiplied: rows of 64 bytes, in lanes of 4 that an AMX instruction adds up.
enum class Product : std::uint8_t { bf16, f16, f32, unsigned_bytes, signed_bytes };

/// Pieces that are multiplied with one another, 0 the largest.
struct PiecePair {
  int input, weights;
};

/// Numbers of more bits than bf16 has are sums of pieces that are bf16. Pairs that follow one
/// another share a piece.
struct ProductTraits {
  const char* name;
  DType input, weights, sums;
  int element;  ///< bytes, in a tile
  int pieces;
  std::span<const PiecePair> pairs;
  constexpr int lane() const { return 4 / element; }  ///< channels of a lane
  constexpr bool is_split() const { return pieces > 1; }
};
constexpr PiecePair kWhole[] = {{0, 0}};
// Two pieces hold the 11 bits of f16: the sums are of exact products.
constexpr PiecePair kHalves[] = {{1, 1}, {1, 0}, {0, 0}, {0, 1}};
// Three hold the 24 bits of f32; what is left out is at most 2^-23 of a product.
constexpr PiecePair kThirds[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
constexpr ProductTraits kProducts[] = {{"bf16", DType::bf16, DType::bf16, DType::f32, 2, 1, kWhole},
                                       {"f16", DType::f16, DType::f16, DType::f32, 2, 2, kHalves},
                                       {"f32", DType::f32, DType::f32, DType::f32, 2, 3, kThirds},
                                       {"u8", DType::u8, DType::i8, DType::i32, 1, 1, kWhole},
                                       {"i8", DType::i8, DType::i8, DType::i32, 1, 1, kWhole}};
constexpr const ProductTraits& traits_of(Product product) {
  return kProducts[static_cast<int>(product)];
}

constexpr int kTileRows = 16;   ///< pixels of a tile of input or sums
constexpr int kTileLanes = 16;  ///< output channels of a tile of weights or sums
constexpr int kTileBytes = 64;  ///< of a tile's row
constexpr int kLaneBytes = 4;   ///< of a sum, or of the channels that one instruction adds up

/// The most tiles that a plan's kernels sum at a time: four, as a square or in one line, or six.
struct TileGrid {
  int pixels = 0, channels = 0;
  constexpr int tiles() const { return pixels * channels; }
  constexpr int rows() const { return pixels * kTileRows; }
  constexpr int lanes() const { return channels * kTileLanes; }
  bool operator==(const TileGrid&) const = default;
};
constexpr TileGrid kSquareGrid{2, 2}, kWideGrid{1, 4}, kTallGrid{4, 1}, kLargeGrid{3, 2};
constexpr TileGrid kGrids[] = {kSquareGrid, kWideGrid, kTallGrid, kLargeGrid};
constexpr int kMostTilePixels = kTallGrid.pixels;

/// The operand that is not to be kept in the first-level cache, for the sake of the other.
enum class Far : std::uint8_t { nothing, input, weights };

/// A kernel that sums `tiles` tiles of pixels x `vectors` tiles of channels.
struct MatrixTileSpec {
  Product product{};
  TileGrid grid;
  int tiles = 0, vectors = 0;  ///< at most the grid's
  int depth_bytes = 0;         ///< of a row of an input tile: channels of a step
  std::int64_t steps = 0;      ///< products that are summed: taps, in steps of channels
  /// Sums are [channel][pixel], and rows of an input tile are lanes; otherwise [pixel][channel],
  /// and they are pixels.
  bool by_plane = false;
  std::int64_t row_bytes = 0;    ///< from one row of an input tile to the next
  std::int64_t sums_bytes = 0;   ///< from one row of stored sums to the next
  std::int64_t tile_bytes = 0;   ///< from one tile's input to the next
  bool last_is_apart = false;    ///< the last tile's input lies where the call says
  std::int64_t piece_bytes = 0;  ///< from one piece of a step's input to the next
  Far far = Far::nothing;
  /// Each load of input asks the second-level cache for what the next strip loads in its stead.
  bool next_input = false;
  int next_lines = 0;    ///< cache lines of the next weights that a step fetches
  int asked_pixels = 0;  ///< a step asks for what the chain will read at so many pixels more
  /// Its sums stay in their tiles. Where a whole strip was left there, it is stored first, and the
  /// chain is applied to it meanwhile.
  bool overlaps = false;
  int grain = 0;          ///< of such a strip, pixels that are finished at a time
  bool has_gaps = false;  ///< some of which may be left out
  bool operator==(const MatrixTileSpec&) const = default;
};

/// What a tile kernel, `void(const MatrixTileCall*)`, reads.
struct MatrixTileCall {
  const void* input = nullptr;          ///< first pixel of the first tile, first channel
  std::int64_t last = 0;                ///< bytes from the first tile's input to the last's
  const void* weights = nullptr;        ///< see pack_weights.hpp
  const void* next = nullptr;           ///< weights that will be wanted next
  const std::int64_t* steps = nullptr;  ///< bytes from a pixel to what each step reads
  void* sums = nullptr;                 ///< where they are stored: its own, or those it finishes
  const RowsCall* chain = nullptr;      ///< at the first pixel and channel of those it finishes
  /// Of the chain at the first pixel and channel of those it sums, if it asks for them.
  const void* const* elements = nullptr;
  bool finishes = false;   ///< a strip that waits in the tiles
  std::uint64_t gaps = 0;  ///< bit i: pixels i * grain and on of that strip are left out
};

}  // namespace fuseplan::cpu
