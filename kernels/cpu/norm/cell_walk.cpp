// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/cell_walk.hpp"

namespace fuseplan::cpu {

namespace {

/// Longest piece of a row: 256 additions to each of 4 vectors of 16 sums, so that sums in f32 lose
/// no more than a few bits.
constexpr std::int64_t kPieceLanes = 16384;

/// Why the samples of a cell do not lie as CellWalk says; empty if they do.
std::string refusal_of(const Walk& walk, std::size_t cell) {
  constexpr const char* kWant = "the statistics need a tensor that is packed, as NCHW or NHWC";
  for (const Walk::Axis& axis : walk.outer)
    if (axis.stride[cell] != 0) return kWant;
  const bool per_lane = walk.lanes.stride[cell] != 0;
  if (per_lane && (walk.lanes.stride[cell] != 1 || walk.rows.stride[cell] != 0)) return kWant;
  return {};
}

}  // namespace

std::optional<CellWalk> plan_cell_walk(WalkTensors tensors, const View& statistics,
                                       bool are_channels, std::string* reason) {
  CellWalk result;
  const View& output = tensors.output;
  std::size_t tensor = Walk::kChannel;
  if (are_channels) {
    tensors.channels = statistics;
  } else {
    tensor = tensors.dtypes.size();
    tensors.elements.push_back(statistics);
    tensors.dtypes.push_back(DType::f32);
  }
  result.cells = output.len[1] * (are_channels ? 1 : output.pixels());
  result.samples = output.len[0] * (are_channels ? output.pixels() : 1);
  auto walk = plan_walk(tensors, reason);
  if (!walk) return std::nullopt;
  if (const std::string refusal = refusal_of(*walk, tensor); !refusal.empty()) {
    *reason = refusal;
    return std::nullopt;
  }
  result.walk = std::move(*walk);
  result.per_lane = result.walk.lanes.stride[tensor] != 0;
  result.rows_of_cell = result.walk.rows.stride[tensor];
  if (result.per_lane) {
    result.units = result.walk.row_count();
  } else {
    result.pieces = (result.walk.lanes.len + kPieceLanes - 1) / kPieceLanes;
    const std::int64_t cells_in_rows = result.rows_of_cell == 0 ? 1 : result.walk.rows.len;
    result.units = result.walk.row_count() / cells_in_rows * result.pieces;
  }
  return result;
}

std::int64_t CellWalk::unit_bytes(std::int64_t of_cells) const {
  return walk.bytes() / std::max<std::int64_t>(cells * units, 1) * of_cells;
}

}  // namespace fuseplan::cpu
