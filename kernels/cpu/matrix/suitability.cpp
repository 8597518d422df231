// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/suitability.hpp"

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "kernels/cpu/matrix/plan.hpp"
#include "kernels/cpu/matrix/tuning.hpp"
#include "kernels/cpu/staged_axis.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

// In cycles of one core of the sapphire line: between two products of tiles, on average; of a
// direct kernel's multiply-add; and to split a value of the input or finish one of the output,
// where channels are contiguous and where they are turned. Input from behind the second-level cache
// is waited for, while the direct kernel multiplies.
constexpr double kTileProduct = 19, kMultiplyAdd = 1 / 29.0;
constexpr double kMoved = 0.5, kTurned = 0.8, kWaited = 0.45;
// A byte of weights from behind the second-level cache, asked for while others are in use; and one
// that comes again for the next strip, as that cache does not keep a tile of channels beside the
// window's input: 1024 to 1024 channels of 3 x 3 taps at 12 x 12 pixels take 24.5 ms.
constexpr double kStreamed = 0.03, kAgain = 0.14;
constexpr double kSecondLevel = 1800 << 10;

double real(std::int64_t count) { return static_cast<double>(count); }

// 1x1 filters in groups have no kernels of their own, and direct ones read planes at a third of
// their speed.
constexpr double kSlow = 3;
bool is_grouped_plane(const DirectShape& shape) {
  return shape.conv.groups > 1 && shape.taps() == 1 && shape.conv.input.stride[1] != 1;
}

/// Of one image and group: rows run on through what lies between them.
std::int64_t tiles_of(const DirectShape& shape, Product product) {
  const View& output = shape.conv.output;
  const std::int64_t width = output.len[4] + gap_columns(shape, product);
  return output.len[2] * ceil_div((output.len[3] - 1) * width + output.len[4], kTileRows);
}

/// What a window takes of one image, and of how many it does.
struct WindowShape {
  std::int64_t rows, columns, images;
  TileGrid grid;
};
WindowShape window_of(const DirectShape& shape, Product product) {
  const View& output = shape.conv.output;
  const MatrixConfig config = matrix_tuning_space(shape, product).front();
  const std::int64_t block = config.block;
  const std::int64_t rows = std::clamp<std::int64_t>(block / output.len[4], 1, output.len[3]);
  return {rows, std::min(output.len[4], block), images_of_window(shape, product, block),
          config.grid};
}

/// Values of the input that are staged for an output pixel: windows of large filters overlap.
double staged_per_pixel(const DirectShape& shape, const WindowShape& window) {
  const ConvGeometry& conv = shape.conv;
  return real(staged_length(conv, 1, window.rows)) / real(window.rows) *
         real(staged_length(conv, 2, window.columns)) / real(window.columns) *
         real(conv.filter[0]) * real(conv.group_inputs);
}

/// How often windows read a tile of channels from behind the second-level cache after the first
/// time.
double strips_again(const DirectShape& shape, Product product, const WindowShape& window) {
  const ConvGeometry& conv = shape.conv;
  const std::int64_t outputs = std::min<std::int64_t>(conv.group_outputs, window.grid.lanes());
  const double weights =
      real(weight_bytes(shape, product)) * real(outputs) / real(conv.group_outputs);
  const double input = real(window.images) * real(staged_length(conv, 1, window.rows)) *
                       real(staged_length(conv, 2, window.columns)) * real(conv.group_inputs) *
                       traits_of(product).element * traits_of(product).pieces;
  if (weights + input <= kSecondLevel) return 0;
  const double width = real(window.columns) + real(gap_columns(shape, product));
  const double positions = real(window.rows - 1) * width + real(window.columns);
  return real(window.images) * std::ceil(positions / window.grid.rows()) - 1;
}

/// Cycles in which weights of one image and group come from behind the second-level cache.
double streaming(const DirectShape& shape, Product product, const WindowShape& window) {
  const ConvGeometry& conv = shape.conv;
  if (weights_stay(shape, product)) return 0;
  const std::int64_t windows = conv.output.len[2] * ceil_div(conv.output.len[3], window.rows) *
                               ceil_div(conv.output.len[4], window.columns);
  const double again = kAgain * strips_again(shape, product, window);
  return real(weight_bytes(shape, product)) * real(windows) / real(window.images) *
         (kStreamed + again);
}

}  // namespace

double matrix_speedup(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const double pixels =
      real(conv.output.len[2]) * real(conv.output.len[3]) * real(conv.output.len[4]);
  const std::int64_t outputs = conv.group_outputs;
  const double direct = real(taps_along(conv, 0)) * real(taps_along(conv, 1)) *
                        real(taps_along(conv, 2)) * real(outputs) * real(conv.group_inputs) *
                        kMultiplyAdd * (is_grouped_plane(shape) ? kSlow : 1);
  const double products = real(tiles_of(shape, product)) * real(ceil_div(outputs, kTileLanes)) *
                          real(terms_of(shape, product)) *
                          real(std::ssize(traits_of(product).pairs)) * kTileProduct;
  const WindowShape window = window_of(shape, product);
  const bool planes = prefers_planes(shape, product);
  const auto moved = [&](const View& view) {
    return planes || view.stride[1] == 1 ? kMoved : kTurned;
  };
  const std::int64_t bytes =
      conv.input.elements() * static_cast<std::int64_t>(size_of(shape.input));
  const double moves = pixels * real(outputs) * moved(conv.output) +
                       pixels * staged_per_pixel(shape, window) *
                           (moved(conv.input) + (bytes > kFarBytes ? kWaited : 0));
  return direct / (products + moves + streaming(shape, product, window));
}

}  // namespace fuseplan::cpu
