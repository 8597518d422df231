// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/containers.hpp"
#include "plan/problem.hpp"
#include "run/compiled.hpp"
#include "run/handle.hpp"

namespace fuseplan {

/// Axes along which a compiled plan may be executed with other lengths.
struct DynamicDims {
  bool batch = false, depth = false, height = false, width = false;
};

/// What a query says without compiling. The solver that compiling would choose comes first.
struct Support {
  Selection selection;
  Choice choice;                      ///< if fused()
  std::vector<Candidate> candidates;  ///< all that could be timed, if asked for
  bool fused() const { return !selection.accepted.empty(); }
};

/// A plan being written and, per handle, its compiled form. Appended by one thread; then compiled
/// and executed by many. Every edit makes the compiled forms unreachable.
class Plan {
 public:
  explicit Plan(Tensor input);
  ~Plan();

  /// Index of the new op. Throws, and changes nothing, if it does not fit behind the others.
  int append(OpBody op);
  int op_count() const { return static_cast<int>(ops_.size()); }
  const OpBody& op(int index) const;
  /// Derived output of op `index`, packed in the input's layout.
  const Tensor& output_of(int index) const;
  const Tensor& input() const { return input_; }

  /// The output the plan writes: derived unless set.
  Tensor output() const;
  void set_output(const Tensor& output);
  void set_dynamic(DynamicDims dims);
  void set_solver(std::string id);  ///< empty: any; throws Error(InvalidValue) for no solver's name
  void set_algorithm(Algorithm algorithm);  ///< of the convolution; none: any
  const std::string& solver() const { return filter_.pinned; }

  /// Throws Error(UnsupportedOp) for an empty plan.
  Problem problem() const;
  /// Times nothing, so under the find_mode option compiling may choose another. A solver whose
  /// kernel the last compile() on that handle could not make is one that declined.
  Support query(const Handle& handle, bool with_candidates = false) const;
  /// Stores "solver:config" as the winner of a search that was made elsewhere. Throws
  /// Error(InvalidValue) if compiling could not choose it.
  void store_winner(const Handle& handle, std::string_view candidate) const;

  /// Throws Error(UnsupportedOp) with every solver's reasons if none can run it. Compiling again
  /// on the same handle without an edit between is a cheap no-op.
  void compile(const Handle& handle);
  /// Compiled form on that handle, or nullptr. Takes no lock. Edits and other compilations leave it
  /// to those who have it.
  std::shared_ptr<const Compiled> find_compiled(const Handle& handle) const;
  /// The same, or Error(NotCompiled).
  std::shared_ptr<const Compiled> compiled(const Handle& handle) const;

 private:
  void edited();
  SolverFilter filter_on(const Handle& handle) const;
  std::vector<Rejection> failures_on(const Handle& handle) const;
  void keep_failures(const Handle& handle, std::vector<Rejection> failures);

  Tensor input_;
  std::vector<OpBody> ops_;
  std::vector<Tensor> values_;  ///< derived output of each op
  std::optional<Tensor> output_;
  DynamicDims dynamic_;
  SolverFilter filter_;

  // Readers follow `forms_` without a lock, so a replaced snapshot is kept until none of them can
  // be in it. They are there for as long as it takes to find a form, not to run it.
  struct Forms;
  void publish(std::unique_ptr<const Forms> forms);
  std::mutex compile_mutex_;
  std::atomic<const Forms*> forms_{nullptr};
  mutable std::atomic<int> readers_{0};
  std::vector<std::unique_ptr<const Forms>> kept_;

  // Apart from the forms: a query need not wait for a compilation.
  struct Failures {
    std::weak_ptr<const void> handle;
    std::vector<Rejection> rejections;
  };
  mutable std::mutex failures_mutex_;
  FlatMap<std::uint64_t, Failures> failures_;  ///< by handle
};

}  // namespace fuseplan
