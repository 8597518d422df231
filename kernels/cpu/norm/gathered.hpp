// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/memory.hpp"
#include "kernels/cpu/emit/sums.hpp"
#include "kernels/cpu/norm/cell_walk.hpp"

namespace fuseplan::cpu {

/// What some samples of a range of cells amount to, in double: value v of cell i is
/// values[v * stride + i]. Either plain sums, or the mean (0) and the sum of squared deviations
/// from it (1).
struct Gathered {
  std::int64_t count = 0;  ///< samples of each cell
  std::int64_t cells = 0, stride = 0;
  double* values = nullptr;
  double* of(std::size_t value) const { return values + static_cast<std::int64_t>(value) * stride; }
  /// The same memory, of some of the cells, that nothing has been added to.
  Gathered empty_slice(std::int64_t first, std::int64_t cells_of_it) const {
    return {0, cells_of_it, stride, values + first};
  }
};
/// Zero, in `scratch`.
Gathered nothing_gathered(std::int64_t cells, std::size_t values, Scratch& scratch);

void add_sums(Gathered& to, const Gathered& other, std::size_t values);
/// Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances.
void add_moments(Gathered& to, const Gathered& other);

/// A kernel of emit_sums over cells.
struct SumsKernel {
  void (*call)(const RowsCall*) = nullptr;
  std::size_t roots = 0;
};

/// Adds the sums over the units of the cells `range` to `to`. `place.output` is not used.
void gather_sums(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                 Range range, Range units, Gathered& to);

/// What gather_moments needs: roots are the deviation from channel value 0 and its square.
SumsSpec moments_spec(const CellWalk& cells, Isa isa);

/// Mean and squared deviations, into `to`, which is empty. Samples are summed as deviations from a
/// pivot, the mean of all samples before the current segment; segments double in length. So the
/// deviations from the pivot are never much larger than those from the mean of what has been seen,
/// and nothing cancels.
void gather_moments(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                    Range range, Range units, Gathered& to);

}  // namespace fuseplan::cpu
