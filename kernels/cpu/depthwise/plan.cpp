// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/depthwise/recipe.hpp"
#include "kernels/cpu/row_cut.hpp"

namespace fuseplan::cpu {
namespace {

// Floats of sums and staged input that are in use at a time; they share the first-level cache with
// the rows they come from.
constexpr std::int64_t kLocalFloats = 6144;

constexpr std::size_t kColumnAxis = 4;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return (a >= 0 ? a : a - b + 1) / b; }

// Code holds offsets along a row, and over the rows of a tile, as 32-bit immediates.
bool reach_fits_immediates(const ConvGeometry& g) {
  constexpr std::int64_t kReach = std::int64_t{1} << 26;  // elements
  const auto short_of = [](std::int64_t length, std::int64_t step) {
    return length < kReach && step < kReach && length * step < kReach;
  };
  const std::int64_t columns = std::max(g.input.len[4] + 2 * g.pad_lo[2], g.output.len[4]) + 64;
  const std::int64_t rows = 8 * g.stride[1];
  return short_of(columns, std::max<std::int64_t>(g.input.stride[4], 8)) &&
         short_of(rows, std::max(g.input.stride[3], 2 * columns)) && g.pad_lo[2] < kReach;
}

bool rows_continue(const View& view) {
  const bool constant = view.stride[4] == 0 && view.stride[3] == 0;
  return constant || (view.stride[4] == 1 && view.stride[3] == view.len[4]);
}

}  // namespace

std::optional<std::string> depthwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa) {
  if (isa == Isa::portable) return "depthwise kernels need AVX2 or AVX-512";
  if (problem.conv() == nullptr) return "the plan has no convolution";
  const ConvGeometry g = geometry_of(problem);
  if (g.group_inputs != 1)
    return fmt::format("a group has {} input channels, expected 1", g.group_inputs);
  if (!reach_fits_immediates(g)) return "rows are too long for the kernels' 32-bit offsets";
  if (!contiguous_along(g.input, kColumnAxis) || !contiguous_along(g.output, kColumnAxis))
    return "input and output must both be contiguous along the columns";
  const std::vector<ElementView> elements = element_views(chain, problem.output());
  return lane_refusal({g.output, problem.output().dtype, elements, kColumnAxis});
}

DepthwisePlan::DepthwisePlan(const Problem& problem, const SplitChain& chain, Isa isa_in)
    : isa(isa_in),
      g(geometry_of(problem)),
      input(problem.input().dtype),
      output(problem.output().dtype),
      weights(problem.conv()->weights.dtype),
      weights_text(to_text(problem.conv()->weights)),
      multiplier(g.group_outputs),
      elements(element_views(chain, problem.output())) {
  step_by_element(g.input, kColumnAxis);
  rows = rows_spec(tensors(), chain, isa);
  plan_columns();
}

void DepthwisePlan::plan_columns() {
  const std::int64_t columns = g.output.len[4], rows_out = g.output.len[3];
  const int vectors = static_cast<int>(round_up(columns, lanes()) / lanes());
  const std::int64_t most_sums = isa == Isa::avx2 ? 12 : 24;
  tile_vectors = vectors <= 4 ? vectors : balanced_columns(vectors, 4);
  for (int count = 8; count >= 1; --count)
    if (count == 1 || (count * tile_vectors <= most_sums && count <= rows_out &&
                       (tile_rows.empty() || 2 * count <= tile_rows.back())))
      tile_rows.push_back(count);

  // Only AVX-512 can leave out single lanes of a load, and only whole rows of f32 can be read as
  // they are.
  staged = isa != Isa::avx512 || input != DType::f32 || g.stride[2] != 1;
  const std::int64_t computed = round_up(columns, lanes());
  std::int64_t right = 0;
  for (std::int64_t tap = 0; tap < g.filter[2]; ++tap) {
    const std::int64_t first = floor_div(tap * g.dilation[2] - g.pad_lo[2], g.stride[2]);
    left = std::max(left, -first);
    right = std::max(right, first + computed);
  }
  // Strides 1 and 2 are stored in whole vectors of each phase.
  const std::int64_t unit = g.stride[2] * (g.stride[2] <= 2 ? lanes() : 1);
  const std::int64_t stored = round_up(g.input.len[4], unit) / g.stride[2];
  phase_pitch = left + std::max(right, stored);

  std::int64_t floats_per_row = columns;
  if (staged) floats_per_row += g.filter[0] * g.stride[1] * stage_row_floats();
  const std::int64_t fitting =
      kLocalFloats / floats_per_row / tile_rows.front() * tile_rows.front();
  band_rows = std::clamp<std::int64_t>(fitting, tile_rows.front(), rows_out);
  staged_rows = std::min(g.input.len[3],
                         (band_rows - 1) * g.stride[1] + (g.filter[1] - 1) * g.dilation[1] + 1);
  sums_pitch = round_up(band_rows * columns + lanes(), 16);
  if (multiplier == 1)
    group = std::clamp<std::int64_t>(kLocalFloats / (sums_pitch + stage_channel_floats()), 1,
                                     g.output.len[1]);
  joined_rows =
      rows_continue(g.output) && std::ranges::all_of(elements, rows_continue, &ElementView::view);
}

std::int64_t DepthwisePlan::tap_offset(std::int64_t tap) const {
  const std::int64_t column = tap * g.dilation[2] - g.pad_lo[2];
  const std::int64_t floats = static_cast<std::int64_t>(sizeof(float));
  if (!staged) return column * floats;
  const std::int64_t whole = floor_div(column, g.stride[2]);
  const std::int64_t phase = column - whole * g.stride[2];
  return (phase * phase_pitch + left + whole) * floats;
}

std::int64_t DepthwisePlan::row_bytes() const {
  const std::int64_t floats = static_cast<std::int64_t>(sizeof(float));
  return (staged ? stage_row_floats() : g.input.stride[3]) * floats;
}

}  // namespace fuseplan::cpu
