// SPDX-License-Identifier: MIT
#include "run/search.hpp"

#include <chrono>

#include "base/fork.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "run/race.hpp"
#include "run/trial.hpp"

namespace fuseplan {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ForkedMutex& one_at_a_time() {
  static ForkedMutex& mutex = *new ForkedMutex;
  return mutex;
}

/// The candidates as competitors of a race.
class Field {
 public:
  Field(const CompileContext& context, const Question& question,
        const std::vector<Candidate>& candidates, const Parallel& parallel)
      : context_(context),
        question_(question),
        candidates_(candidates),
        trial_(context, question, parallel),
        entries_(candidates.size()) {}

  bool prepare(std::size_t index) {
    const Candidate& candidate = candidates_[index];
    try {
      const Kernel kernel = candidate.solver->build(question_, candidate.config);
      entries_[index] = trial_.enter(
          context_.backend->load(kernel, code_of(candidate, kernel), context_.device, {}));
      return true;
    } catch (const std::exception& error) {
      log(LogLevel::warning, "tune", "candidate={},error={}", to_text(candidate), error.what());
      return false;
    }
  }

  double run(std::size_t index, int repeats) {
    const double us = trial_.run(entries_[index], repeats);
    if (log_enabled(LogLevel::trace))
      log(LogLevel::trace, "tune", "candidate={},us={:.3f}", to_text(candidates_[index]),
          us / repeats);
    return us;
  }

  /// Spent on compiling for a GPU, which takes longer than any race.
  double compiling_us() const { return compiling_us_; }

 private:
  // A GPU's kernels are worth keeping, whoever wins: the next search needs no compiler.
  Binary code_of(const Candidate& candidate, const Kernel& kernel) {
    if (kernel.gpu == nullptr) return context_.backend->compile(kernel, context_.traits);
    const double start = now_us();
    Binary code = fetch_code(context_, question_.problem, candidate, kernel).row.blob;
    compiling_us_ += now_us() - start;
    return code;
  }

  const CompileContext& context_;
  const Question& question_;
  const std::vector<Candidate>& candidates_;
  double compiling_us_ = 0;
  Trial trial_;
  std::vector<Trial::Entry> entries_;
};

}  // namespace

std::optional<TuningValue> search(const CompileContext& context, const Question& question,
                                  const std::vector<Candidate>& candidates,
                                  const Parallel& parallel) {
  std::unique_lock<std::mutex> lock;
  if (!parallel.is_callers()) lock = one_at_a_time().lock();
  try {
    const double start = now_us();
    Field field(context, question, candidates, parallel);
    const Track track{[&](std::size_t index) { return field.prepare(index); },
                      [&](std::size_t index, int repeats) { return field.run(index, repeats); },
                      [&] { return now_us() - field.compiling_us(); }};
    const auto result = race(candidates.size(), track, 1e3 * context.options.tune_ms);
    if (!result) return std::nullopt;
    const std::string winner = to_text(candidates[result->winner]);
    log(LogLevel::info, "tune",
        "winner={},us={:.2f},model_us={:.2f},timed={},of={},complete={},ms={:.0f},problem={}",
        winner, result->winner_us, result->first_us, result->timed, candidates.size(),
        result->complete, (now_us() - start) * 1e-3, to_text(question.problem));
    return TuningValue{winner, {result->winner_us, result->first_us, result->timed}};
  } catch (const std::exception& error) {
    log(LogLevel::warning, "tune", "problem={},error={}", to_text(question.problem), error.what());
    return std::nullopt;
  }
}

}  // namespace fuseplan
