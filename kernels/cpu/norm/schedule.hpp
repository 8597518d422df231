// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/norm/cell_walk.hpp"

namespace fuseplan::cpu {

/// In which order the two passes visit the data. Cells in `groups` equal parts, and the units of a
/// group in `chunks`. A group whose data fits in a cache is summed and then written while it is
/// there. A function of the geometry: chunks decide how sums are rounded, never threads. Where
/// lanes are cells, a chunk is visited in `strips` of a group's cells, narrow enough that what
/// belongs to the cells stays in a first-level cache while the rows pass.
struct NormSchedule {
  int groups = 1;
  int chunks = 1;
  int strips = 1;
};

/// `read`: bytes that a pass reads for one element.
NormSchedule norm_schedule(const CellWalk& cells, std::int64_t read);

}  // namespace fuseplan::cpu
