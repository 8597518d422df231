// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan::cpu {

// Winograd's F(4x4, 3x3) (Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR
// 2016): a tile of 4 x 4 outputs is
//   A^T [ (G g G^T) .* (B^T d B) ] A
// of its 6 x 6 inputs d and the filter g, 36 products in place of 144. The points are 0, +-5/8,
// +-3/2 and infinity, whose largest errors are a quarter of those of the usual 0, +-1, +-2 and
// infinity. Channels are in lanes. The functions are compiled for AVX-512; strides are in floats.

inline constexpr std::int64_t kTileOutputs = 4, kTileInputs = 6, kPositions = 36, kTileLanes = 16;

/// The 6 x 6 inputs of a tile: `base[offset]` is the first of them, whether it lies inside the
/// image or not; only those inside are read, the others are zero.
struct TileSource {
  struct Inside {
    std::int64_t first = 0, last = kTileInputs;
    bool holds(std::int64_t i) const { return first <= i && i < last; }
    bool all() const { return first <= 0 && last >= kTileInputs; }
  };
  const float* base = nullptr;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  Inside rows, columns;
  std::int64_t channels = kTileLanes;  ///< fewer: the lanes behind them become zero
};

/// V = B^T d B, position p at output[p * stride].
void transform_input(const TileSource& source, float* output, std::int64_t stride);

/// U = G g G^T. `filter`: 9 vectors of output channels; position p at output[p * stride].
void transform_filter(const float* filter, float* output, std::int64_t stride);

/// Y = A^T m A. Position p at sums[p * stride].
void transform_sums(const float* sums, std::int64_t stride, float* output, std::int64_t row_stride,
                    std::int64_t column_stride);

}  // namespace fuseplan::cpu
