// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "driver/case.hpp"
#include "kernels/cpu/isa.hpp"
#include "solve/solver.hpp"
#include "support/shapes.hpp"

namespace fuseplan::test {

using driver::Case;
using driver::CaseOptions;
using driver::Handle;
using driver::ProblemSpec;

/// The levels every check runs at. Forcing a level above the machine's runs the machine's, which
/// few have AMX for.
inline const std::vector<std::string> kLevels =
    cpu::host_extensions().tiles_bf16
        ? std::vector<std::string>{"amx", "avx512", "avx2", "portable"}
        : std::vector<std::string>{"avx512", "avx2", "portable"};
/// The same for bytes, which have kernels for AVX-VNNI where others have AVX2's.
inline const std::vector<std::string> kByteLevels = [] {
  std::vector<std::string> levels = kLevels;
  if (cpu::host_extensions().avx_vnni) levels.emplace_back("avx2_vnni");
  return levels;
}();
inline const std::vector<fuseplanDataType_t> kTypes = {fuseplanFloat, fuseplanHalf,
                                                       fuseplanBFloat16};
inline const std::vector<fuseplanDataType_t> kIntegers = {fuseplanInt8, fuseplanUint8};

/// A CPU handle capped at `level`. Kernels stay in memory: what is checked is the generator.
inline Handle handle_at(const std::string& level) {
  auto handle = driver::make<Handle>(fuseplanCreate);
  driver::check(fuseplanSetOptions(handle.get(), ("--cache=mem --max_isa=" + level).c_str()));
  return handle;
}

/// The problem with its input, weights, added tensors and output in another type and layout;
/// parameters keep theirs. Strided tensors keep their strides.
ProblemSpec converted(ProblemSpec problem, fuseplanDataType_t type, bool channels_last);

/// The convolution of a row in f32 and NCHW, followed by the chain, whose tensors may be given by
/// type alone: they get the shape that their op needs.
ProblemSpec with_chain(const ConvProblem& row, const std::string& chain);

/// The problem with a tensor of its output's kind added somewhere.
ProblemSpec with_residual(ProblemSpec problem);

/// One of the problems that a solver names as what it takes.
struct SolverSample {
  const Solver* solver;
  int index;  ///< among its solver's
  std::string text;
  std::string name() const;  ///< for a test of its own
};
std::ostream& operator<<(std::ostream& stream, const SolverSample& sample);
/// Of all solvers of a backend, but those for hardware that this machine lacks.
std::vector<SolverSample> samples_on(std::string_view backend);

/// What a search for the plan may choose from on the handle; texts last as long as the handle.
std::vector<fuseplanCandidate_t> candidates_of(fuseplanHandle_t handle, fuseplanPlan_t plan);

/// Compiles the candidate at that level, on one to three threads, and expects a right result.
void expect_right(Case& c, const std::string& level, const fuseplanCandidate_t& candidate,
                  int threads);

/// Pins the solver and says whether it takes the plan; a refusal must give at least one reason.
bool is_taken(Case& c, const Solver& solver, fuseplanHandle_t handle);

/// Compiles and executes, and expects every element within the reference's bound.
void expect_right(Case& c, fuseplanHandle_t handle);

/// The same with a case and a CPU handle of its own, and no byte changed outside the output.
void expect_right(const ProblemSpec& problem, const std::string& level,
                  const CaseOptions& options = {});

}  // namespace fuseplan::test
