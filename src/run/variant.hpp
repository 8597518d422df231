// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "cache/store.hpp"
#include "run/choice.hpp"
#include "run/options.hpp"

namespace fuseplan {

/// Everything of a handle and a plan that kernels are made with.
struct CompileContext {
  const Backend* backend;
  int device;
  Traits traits;
  Options options;
  SolverFilter filter;
  int threads;  ///< that executions will use
  std::shared_ptr<KernelStore> store;
};

/// Bytes of the memory that the output must lie apart from, in the order input, weights (of a
/// convolution), channels, elements, results; and of the output.
struct Footprint {
  std::int64_t output = 0;
  SmallVector<std::int64_t, 16> operands;
};

/// One kernel of a plan: a geometry and a set of blending scalars, loaded and ready to run.
struct Variant {
  Problem problem;   ///< the plan's
  Problem asked;     ///< row_form() of it, which solvers are asked about
  SplitChain chain;  ///< of `asked`
  Footprint footprint;
  Choice choice;
  Binary binary;
  std::shared_ptr<const Executable> executable;
  std::string weight_format;  ///< the weights' tensor and what the executable makes of it
  bool from_cache = false;    ///< the code came from memory or the database, not the compiler
  double compile_us = 0;      ///< selection, lookup or code generation, and loading
};

/// Lowers, selects, chooses, fetches or compiles, and loads. With `timing`, to compile a plan, the
/// find_mode option may have candidates timed on those threads, and a pinned configuration must be
/// there; without it nothing is timed, and another may take the pinned one's place. A solver that
/// fails after it accepted is noted in `failures`, if given, and the next one is taken. Throws
/// Error(UnsupportedOp) with every reason when none is left.
std::unique_ptr<const Variant> make_variant(const CompileContext& context, Problem problem,
                                            const Parallel* timing,
                                            std::vector<Rejection>* failures = nullptr);

/// A candidate's code from the store, or compiled now and kept there. Code of an older compiler
/// than the one that is loaded is compiled again.
struct KernelCode {
  Row row;
  bool from_cache;
};
KernelCode fetch_code(const CompileContext& context, const Problem& problem,
                      const Candidate& candidate, const Kernel& kernel);

/// Every rejection as one line each, for messages.
std::string reasons_text(const std::vector<Rejection>& rejections);

}  // namespace fuseplan
