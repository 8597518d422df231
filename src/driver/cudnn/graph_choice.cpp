// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_choice.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

using Clock = std::chrono::steady_clock;

// A plan that is compiled at run time takes most of a second: few are tried, and no more are begun
// when they have taken this long together.
constexpr std::size_t kMostProposals = 64, kMostPlans = 8;
constexpr double kEnoughSeconds = 0.8;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Heuristic {
  CudnnHeuristics mode;
  const char* name;
};
constexpr std::array<Heuristic, 3> kHeuristics{{{CudnnHeuristics::a, "A"},
                                                {CudnnHeuristics::instant, "instant"},
                                                {CudnnHeuristics::fallback, "fallback"}}};

bool admits(GraphNumbers numbers, const EngineFacts& engine) {
  const bool rounds = engine.tensor_cores || engine.rounds_inputs;
  return numbers == GraphNumbers::any || rounds == (numbers == GraphNumbers::tensor_cores);
}

class Choice {
 public:
  Choice(const CudnnGraph& graph, const GraphTarget& target, GraphNumbers numbers,
         const PlanTimer& seconds, Clock::time_point start)
      : graph_(graph), target_(target), numbers_(numbers), seconds_(seconds), start_(start) {}

  /// Whether the heuristic proposed something that runs.
  bool ask(const Heuristic& heuristic) {
    const Clock::time_point asked = Clock::now();
    std::vector<CudnnDescriptor> proposals;
    try {
      proposals = graph_.configurations(heuristic.mode, kMostProposals);
    } catch (const std::exception& error) {
      reason_ = error.what();
      return false;
    }
    proposed_ += proposals.size();
    for (CudnnDescriptor& proposal : proposals) {
      if (tried_ == kMostPlans || (tried_ > 0 && since(asked) > kEnoughSeconds)) break;
      try {
        consider(std::move(proposal));
      } catch (const std::exception& error) {
        reason_ = error.what();
      }
    }
    if (best_.plan == nullptr) return false;
    best_.text += "; the fastest of " + std::to_string(tried_) + " tried, heuristic " +
                  heuristic.name + " proposes " + std::to_string(proposals.size());
    return true;
  }

  GraphChoice take() {
    best_.times = times_;
    return std::move(best_);
  }

  std::string why_none() const {
    if (proposed_ == 0) return reason_.empty() ? "cuDNN has no engine for the graph" : reason_;
    if (other_numbers_ == proposed_)
      return numbers_ == GraphNumbers::tensor_cores ? "none of cuDNN's engines uses tensor cores"
                                                    : "all of cuDNN's engines round f32 to tf32";
    return reason_;
  }

 private:
  void consider(CudnnDescriptor proposal) {
    const EngineFacts engine = facts_of(graph_.backend(), proposal);
    if (!admits(numbers_, engine)) {
      ++other_numbers_;
      return;
    }
    auto plan = std::make_unique<CudnnPlan>(graph_, std::move(proposal));
    PlanTimes times;
    times.build_us = since(start_) * 1e6;
    const Clock::time_point before = Clock::now();
    (void)seconds_(*plan);
    times.first_call_us = since(before) * 1e6;
    const double seconds = std::min(seconds_(*plan), seconds_(*plan));
    if (tried_++ == 0) {
      times_ = times;
      times_.load_us = load(*plan);
    }
    if (best_.plan != nullptr && fastest_ <= seconds) return;
    fastest_ = seconds;
    best_.text = engine.text + ", workspace " + std::to_string(plan->workspace() >> 10) + " KiB";
    best_.plan = std::move(plan);
  }

  // Not every engine can write its plans down.
  std::optional<double> load(const CudnnPlan& plan) const {
    try {
      const std::string text = plan.json();
      const Clock::time_point before = Clock::now();
      const CudnnPlan again(graph_.backend(), target_, text);
      return since(before) * 1e6;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  const CudnnGraph& graph_;
  const GraphTarget& target_;
  GraphNumbers numbers_;
  const PlanTimer& seconds_;
  Clock::time_point start_;
  GraphChoice best_;
  PlanTimes times_;
  double fastest_ = 0;
  std::size_t tried_ = 0, proposed_ = 0, other_numbers_ = 0;
  std::string reason_;
};

}  // namespace

GraphChoice choose_plan(const CudnnBackend& backend, const GraphTarget& target,
                        const GraphSpec& spec, GraphNumbers numbers, const PlanTimer& seconds) {
  const Clock::time_point start = Clock::now();
  auto graph = std::make_unique<CudnnGraph>(backend, target, spec);
  Choice choice(*graph, target, numbers, seconds, start);
  for (const Heuristic& heuristic : kHeuristics) {
    if (!choice.ask(heuristic)) continue;
    GraphChoice best = choice.take();
    best.graph = std::move(graph);
    return best;
  }
  throw std::runtime_error(choice.why_none());
}

}  // namespace fuseplan::driver
