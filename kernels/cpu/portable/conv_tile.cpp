// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/conv_tile.hpp"

#include <cstring>

namespace fuseplan::cpu {
namespace {

// Four floats in a register of any baseline (GNU vector extension: gcc, clang, every target).
typedef float Quad __attribute__((vector_size(16)));
constexpr int kQuads = kTileChannels / 4;

inline Quad load(const float* from) {
  Quad value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store(float* to, Quad value) { std::memcpy(to, &value, sizeof value); }

struct Dense {
  static Quad operand(const float* x, int) { return Quad{*x, *x, *x, *x}; }
};
struct Depthwise {
  static Quad operand(const float* x, int quad) { return load(x + 4 * quad); }
};

template <typename Operand, int P>
void tile(const TileShape& shape, std::int64_t x, int first_tap, int end_tap, float* sums) {
  Quad acc[P][kQuads] = {};
  for (int r = 0; r < shape.row_count; ++r) {
    for (int tap = first_tap; tap < end_tap; ++tap) {
      const float* xp = shape.rows[r].x + (x + tap * shape.x_tap);
      const float* w = shape.rows[r].w + tap * shape.w_tap;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        Quad weight[kQuads];
        for (int q = 0; q < kQuads; ++q) weight[q] = load(w + 4 * q);
#pragma GCC unroll 6
        for (int p = 0; p < P; ++p)
          for (int q = 0; q < kQuads; ++q)
            acc[p][q] += weight[q] * Operand::operand(xp + p * shape.x_pixel, q);
        xp += shape.x_channel;
        w += kTileChannels;
      }
    }
  }
  for (int p = 0; p < P; ++p)
    for (int q = 0; q < kQuads; ++q) store(sums + p * kTileChannels + 4 * q, acc[p][q]);
}

}  // namespace

const Tile kDenseTiles[kTilePixels] = {tile<Dense, 1>, tile<Dense, 2>, tile<Dense, 3>,
                                       tile<Dense, 4>, tile<Dense, 5>, tile<Dense, 6>};
const Tile kDepthwiseTiles[kTilePixels] = {tile<Depthwise, 1>, tile<Depthwise, 2>,
                                           tile<Depthwise, 3>, tile<Depthwise, 4>,
                                           tile<Depthwise, 5>, tile<Depthwise, 6>};

}  // namespace fuseplan::cpu
