// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/schedule.hpp"

namespace fuseplan::cpu {

namespace {

/// Least run of a group's cells in memory, where lanes are cells: shorter ones that lie a power of
/// two apart, as channels of pixels do, share a few sets of a cache.
constexpr std::int64_t kNeighbourBytes = 4096;
constexpr std::int64_t kChunkBytes = 512 << 10;
constexpr std::int64_t kMostChunks = 256;
/// Of pixels with 2048 channels as many values of each channel as a backward pass reads would not
/// stay in a first-level cache of 48 KB.
constexpr std::int64_t kStripCells = 1024;
/// Rows of cells in a chunk: as its sums are put together for each cell, many samples have to share
/// that cost.
constexpr std::int64_t kChunkRows = 384;

int parts(std::int64_t total, std::int64_t of_part) {
  return static_cast<int>((total + of_part - 1) / of_part);
}

}  // namespace

NormSchedule norm_schedule(const CellWalk& cells, std::int64_t read, std::int64_t kept) {
  const std::int64_t cell_bytes = cells.samples * read;
  const std::int64_t fitting = kept / cell_bytes;
  NormSchedule schedule;
  if (cells.per_lane) {
    const std::int64_t lane_bytes = static_cast<std::int64_t>(size_of(cells.walk.dtypes[0]));
    const std::int64_t neighbours = kNeighbourBytes / lane_bytes;
    if (fitting >= neighbours)
      schedule.groups = parts(cells.cells, fitting / neighbours * neighbours);
  } else {
    schedule.groups = parts(cells.cells, std::max<std::int64_t>(fitting, 1));
  }
  const std::int64_t group_bytes = cell_bytes * cells.cells / schedule.groups;
  if (group_bytes > 2 * kept) {
    const std::int64_t fewest = cells.per_lane ? kChunkRows : 1;
    const std::int64_t most = std::clamp<std::int64_t>(cells.units / fewest, 1, kMostChunks);
    schedule.chunks =
        static_cast<int>(std::min<std::int64_t>(parts(group_bytes, kChunkBytes), most));
  }
  if (cells.per_lane) schedule.strips = parts(cells.cells / schedule.groups, kStripCells);
  return schedule;
}

}  // namespace fuseplan::cpu
