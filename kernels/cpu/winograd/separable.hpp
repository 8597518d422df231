// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

/// Code that walks along one side of a matrix: `move` takes a vector from or to place `index` of
/// the row or column the walk is at, `next` goes on to the next one.
struct MatrixWalk {
  std::function<void(int index, const Vec& v)> move;
  std::function<void()> next;
};

/// Emits a map of vectors. `take` gives the number of the register that an input is in, when it is
/// first needed: the map gives it back after its last use. `store` may not change its vector.
void emit_map(VectorCode& code, const LinearMap& map, const std::function<int(int index)>& take,
              const std::function<void(int index, const Vec& v)>& store);

/// Emits Y = V X H^T for matrices of vectors, as a loop over the columns of X, which `vertical`
/// maps, and one over the rows of the result, which `horizontal` maps. What is in between stays in
/// the stack frame. Uses r12 and r13, which `enter` saves.
void emit_separable(VectorCode& code, const LinearMap& vertical, const LinearMap& horizontal,
                    const MatrixWalk& load_columns, const MatrixWalk& store_rows);

/// Emits what puts the maps' factors into registers, if there are enough; behind `enter`.
void keep_factors(VectorCode& code, const LinearMap& vertical, const LinearMap& horizontal);

}  // namespace fuseplan::cpu
