// SPDX-License-Identifier: MIT
#include "solve/solver.hpp"

namespace fuseplan {

#define FUSEPLAN_SOLVER(name) const Solver& solver_##name();
#include "solvers/solvers.def"
#undef FUSEPLAN_SOLVER

std::span<const Solver* const> all_solvers() {
  static const Solver* const kSolvers[] = {
#define FUSEPLAN_SOLVER(name) &solver_##name(),
#include "solvers/solvers.def"
#undef FUSEPLAN_SOLVER
  };
  return kSolvers;
}

}  // namespace fuseplan
