// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/reading.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {

std::int64_t most_channels(Product product) { return kTileBytes / traits_of(product).element; }

std::int64_t steps_of(std::int64_t channels, Product product) {
  return ceil_div(channels, most_channels(product));
}

int equal_depth(std::int64_t channels, Product product) {
  const std::int64_t steps = steps_of(channels, product);
  return static_cast<int>(round_up(ceil_div(channels, steps), traits_of(product).lane()));
}

bool joins_rows(const ConvGeometry& conv, std::int64_t row_channels, Product product) {
  const std::int64_t rows = conv.stride[1];
  return traits_of(product).sums == DType::i32 && rows > 1 && conv.dilation[1] == 1 &&
         conv.filter[1] > 1 && steps_of(rows * row_channels, product) == 1;
}

std::int64_t phase_length(const ConvGeometry& conv, std::size_t axis, std::int64_t outputs) {
  const std::int64_t reach = (conv.filter[axis] - 1) * conv.dilation[axis];
  return outputs + reach / staged_step(conv, axis);
}

std::int64_t shared_columns(const ConvGeometry& conv) {
  const std::int64_t reach = (conv.filter[2] - 1) * conv.dilation[2];
  if (staged_step(conv, 2) != 1) return 0;
  const std::int64_t before = conv.pad_lo[2];
  const std::int64_t behind = conv.output.len[4] + reach - before - conv.input.len[4];
  return std::max<std::int64_t>(0, std::min({before, behind, reach}));
}

std::int64_t overlapping_columns(const ConvGeometry& source, std::int64_t outputs) {
  return ceil_div(staged_length(source, 2, outputs), source.stride[2]) - shared_columns(source);
}

std::int64_t terms_of(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const std::int64_t joined = joining_saves(shape, product) ? conv.filter[2] : 1;
  return shape.taps() / joined * steps_of(joined * conv.group_inputs, product);
}

bool reads_in_place(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  if (traits_of(product).is_split()) return false;
  if (conv.input.stride[1] != 1 && conv.group_inputs > 1) return false;
  const bool is_even =
      steps_of(conv.group_inputs, product) * equal_depth(conv.group_inputs, product) ==
      conv.group_inputs;
  // The last of uneven steps repeats channels, times zero: of numbers that have no infinity.
  const bool may_repeat =
      traits_of(product).sums == DType::i32 && conv.group_inputs >= most_channels(product);
  if (!is_even && !may_repeat) return false;
  return is_pointwise(conv) && conv.output.len[4] >= kTileRows;
}

std::int64_t gap_columns(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  if (joining_saves(shape, product))
    return taps_are_neighbours(shape, product) ? overlapping_columns(conv, 1) - 1 : 0;
  return (conv.filter[2] - 1) * conv.dilation[2] / staged_step(conv, 2) - shared_columns(conv);
}

std::int64_t weight_bytes(const DirectShape& shape, Product product) {
  const ProductTraits& traits = traits_of(product);
  return shape.conv.group_inputs * round_up(shape.conv.group_outputs, kTileLanes) * shape.taps() *
         traits.element * traits.pieces;
}

std::int64_t images_of_window(const DirectShape& shape, Product product, std::int64_t block) {
  const ConvGeometry& conv = shape.conv;
  const View& output = conv.output;
  const std::int64_t rows = phase_length(conv, 1, output.len[3]);
  const std::int64_t columns = output.len[4] + gap_columns(shape, product);
  if (output.len[2] > 1 || weights_stay(shape, product) || columns > block) return 1;
  return std::clamp<std::int64_t>(block / columns / rows, 1, output.len[0]);
}

bool lies_by_plane(const DirectShape& shape, Product product) {
  const View& input = shape.conv.input;
  return traits_of(product).element == 2 && contiguous_along(input, 4) &&
         shape.tensors().lane_axis == 4;
}

bool joining_saves(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  if (conv.filter[2] == 1 || conv.dilation[2] != 1) return false;
  return steps_of(conv.filter[2] * conv.group_inputs, product) <
         conv.filter[2] * steps_of(conv.group_inputs, product);
}

bool taps_are_neighbours(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const ProductTraits& traits = traits_of(product);
  const std::int64_t row = conv.filter[2] * conv.group_inputs;
  if (traits.is_split() || joins_rows(conv, row, product)) return false;
  // What steps have behind the last tap is multiplied by zero.
  return traits.sums == DType::i32 || steps_of(row, product) * equal_depth(row, product) == row;
}

}  // namespace fuseplan::cpu
