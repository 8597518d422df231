// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/norm/cell_walk.hpp"

namespace fuseplan::cpu {

/// In which order the two passes visit the data. Cells in `groups` equal parts, and the units of a
/// group in `chunks`. A group whose data fits in a cache is summed and then written while it is
/// there. A function of geometry and configuration: chunks decide how sums are rounded, never
/// threads. Where lanes are cells, a chunk is visited in `strips` of a group's cells, narrow enough
/// that what belongs to the cells stays in a first-level cache while the rows pass.
struct NormSchedule {
  int groups = 1;
  int chunks = 1;
  int strips = 1;
  bool operator==(const NormSchedule&) const = default;
};

/// `read`: bytes that a pass reads for one element; `kept`: what it may read of a group so that the
/// next pass finds it in a core's second-level cache, with room for what that writes.
NormSchedule norm_schedule(const CellWalk& cells, std::int64_t read, std::int64_t kept);

}  // namespace fuseplan::cpu
