// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/gpu/recipe.hpp"
#include "plan/problem.hpp"
#include "solve/algorithm.hpp"

namespace fuseplan {

enum class RejectCode : int {
#define FUSEPLAN_REJECTION(name, value, sentence) name = value,
#include "solve/rejections.def"
#undef FUSEPLAN_REJECTION
};
const char* name_of(RejectCode code);
const char* sentence_of(RejectCode code);

/// One condition of one solver that a problem did not meet.
struct Rejection {
  RejectCode code{};
  std::string solver;
  int op = -1;  ///< index of the op it is about; -1: the plan as a whole
  std::string field, got, need, hint;
  std::string sentence() const;
};

/// What solvers and compilers may know of a device: enough to generate code for it without having
/// it. Two devices with equal text take the same kernels.
struct Traits {
  std::string backend = "cpu";
  cpu::Isa isa = cpu::Isa::portable;
  cpu::Extensions extensions = {};
  /// Whose shipped tuning table fits; not part of the text, since it changes no kernel's bytes.
  std::string family = "generic";
  std::string arch = {};  ///< of a GPU: "sm_80", "sm_90a"
  bool tf32 = false;      ///< products of f32 may be of values rounded to tf32 (11 bits)
  std::string to_text() const;
};

struct SolverFilter;

/// What a solver is asked about.
struct Question {
  const Problem& problem;
  const SplitChain& chain;
  const Traits& traits;
  /// Which others a solver may use inside; nullptr: any.
  const SolverFilter* filter = nullptr;
};

/// A solver's answer: the conditions that were not met; none means yes.
class Verdict {
 public:
  /// `solver`: an id, which lives as long as the library.
  explicit Verdict(std::string_view solver) : solver_(solver) {}
  /// States one condition. If it does not hold, it becomes a rejection.
  void need(bool holds, RejectCode code, std::string_view field, std::string_view got,
            std::string_view need, std::string_view hint = {}, int op = -1);
  bool accepted() const { return rejections_.empty(); }
  const std::vector<Rejection>& rejections() const { return rejections_; }
  std::vector<Rejection> take_rejections() { return std::move(rejections_); }

 private:
  std::string_view solver_;
  std::vector<Rejection> rejections_;
};

/// A kernel ready to be compiled: where it came from and, for its backend, how to make it.
struct Kernel {
  std::string name;  ///< for people: profiles, dumps
  std::shared_ptr<const cpu::Recipe> cpu;
  std::shared_ptr<const gpu::Recipe> gpu = {};  ///< one of the two is set
};

/// Solvers of one rank stand as solvers.def lists them, before those of the next. The last resort
/// is timed only where no other accepts a problem.
enum class Rank { listed, behind, last_resort };

/// One way to run problems as one kernel. Stateless; every function is pure. A new solver is a file
/// that defines one and a row in solvers.def.
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string_view id() const = 0;        ///< part of cache keys: never reused
  virtual std::string_view sentence() const = 0;  ///< what it is, for the support table
  virtual std::string_view backend() const = 0;
  /// What it counts as; none if it runs no convolution.
  virtual Algorithm algorithm() const = 0;

  virtual void accepts(const Question& question, Verdict& verdict) const = 0;
  /// Where it stands among those that accept the problem, before any is timed.
  virtual Rank rank(const Question&) const { return Rank::listed; }
  /// The tuning space, as text; the first is the default. Never empty for an accepted problem.
  virtual std::vector<std::string> configs(const Question& question) const = 0;
  /// The first of them, and whether `config` is one of them, for those who can say it cheaper.
  virtual std::string first_config(const Question& question) const;
  virtual bool offers(const Question& question, std::string_view config) const;
  virtual Kernel build(const Question& question, std::string_view config) const = 0;
  /// Problems, as text, that together show what it accepts; the matrix test, the support table and
  /// the bench run them.
  virtual std::vector<std::string> samples() const = 0;
};

/// Rows of solvers.def, best first.
std::span<const Solver* const> all_solvers();
const Solver* find_solver(std::string_view id);

/// Which solvers may be tried: a pinned one, a list of names taken out, or an algorithm.
struct SolverFilter {
  std::string pinned;  ///< only this one; empty: any
  std::vector<std::string> disabled;
  Algorithm algorithm = Algorithm::none;  ///< only convolution solvers of this one; none: any
};

/// Whether the question's filter leaves this one, so that another may stand back for it.
bool may_run(const Question& question, std::string_view solver);

struct Selection {
  std::vector<const Solver*> accepted;  ///< best first, and those that do not lead at the end
  std::vector<Rejection> rejections;    ///< of all others on this backend
};
Selection select_solvers(const Question& question, const SolverFilter& filter);

}  // namespace fuseplan
