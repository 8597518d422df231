// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "expr/passes.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {

/// What solvers are asked: a problem on an architecture.
struct Asked {
  Problem problem;
  SplitChain chain;
  Traits traits;
  Asked(const std::string& text, const std::string& arch)
      : problem(parse_problem(text)), chain(optimize(lower(problem), {})) {
    traits.backend = "cuda";
    traits.arch = arch;
    traits.tf32 = true;
  }
  Question get() const { return {problem, chain, traits}; }
  /// Not every architecture has what a solver needs.
  bool accepted_by(const Solver& solver) const {
    Verdict verdict(solver.id());
    solver.accepts(get(), verdict);
    return verdict.accepted();
  }
};

inline std::vector<const Solver*> gpu_solvers() {
  std::vector<const Solver*> solvers;
  for (const Solver* solver : all_solvers())
    if (solver->backend() == "cuda") solvers.push_back(solver);
  return solvers;
}

}  // namespace fuseplan::test
