// SPDX-License-Identifier: MIT
#include "driver/bench/measure_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "driver/bench/agreement.hpp"
#include "driver/bench/changing_weights.hpp"
#include "driver/bench/rounds.hpp"
#include "driver/roof.hpp"

namespace fuseplan::driver {
namespace {

/// A way that is being timed, and the peer it belongs to.
struct Candidate {
  std::size_t peer;
  PeerWay* way;
  double us = 0;
};

/// Everything of one row while it is measured.
class Measured {
 public:
  Measured(fuseplanHandle_t handle, const ProblemSpec& problem, const RowSettings& settings)
      : handle_(handle),
        settings_(settings),
        case_(problem),
        weights_(case_, settings.raw_weights) {
    case_.compile(handle);
    if (!settings.raw_weights) case_.set_constant_weights();
    row_.name = problem.name;
    row_.problem = to_text(problem);
    row_.count = problem.count;
    row_.published_speedup = problem.published_speedup;
    row_.flops = problem.conv_flops();
    row_.bytes = problem.bytes();
    fuseplanPlanInfo_t info = {};
    info.structSize = sizeof info;
    check(fuseplanPlanGetInfo(handle, case_.plan(), &info));
    row_.solver = info.solver;
    row_.config = info.config;
  }

  void verify() {
    case_.execute(handle_);
    const test::Comparison comparison = compare_with_oracle(case_);
    row_.verified = comparison.ok();
    row_.max_relative_error = comparison.max_relative_error;
    if (!comparison.ok()) row_.mismatch = comparison.describe();
  }

  void prepare(const Peers& peers) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      row_.peers.emplace_back();
      try {
        ways_.push_back(peers[i]->ways(case_, {settings_.threads, settings_.raw_weights}));
      } catch (const std::exception& error) {
        row_.peers.back().refusal = error.what();
        ways_.emplace_back();
      }
      for (const auto& way : ways_.back()) candidates_.push_back({i, way.get()});
    }
  }

  void time() {
    const Pinned pinned(settings_.threads == 1);
    time_candidates(candidates_, {.seconds = 0, .batch = 1e-3, .rounds = 3}, {});
    CopyRoof copy(static_cast<std::size_t>(row_.bytes), settings_.threads);
    std::vector<double> peaks, copies;
    std::vector<Candidate> finalists = select_finalists();
    row_.us = time_candidates(finalists, {.seconds = settings_.seconds}, [&] {
      peaks.push_back(fma_burst_gflops(settings_.threads));
      copies.push_back(copy.burst_gbps());
    });
    row_.peak_gflops = median(peaks);
    row_.copy_gbps = median(copies);
    for (const Candidate& final : finalists) record(final);
  }

  void compare_peers() {
    weights_.change();
    case_.execute(handle_);
    for (BenchPeer& peer : row_.peers) peer.agrees = true;
    for (const Candidate& candidate : candidates_) {
      candidate.way->execute();
      const Agreement agreement = agree(case_.output(), candidate.way->result());
      BenchPeer& peer = row_.peers[candidate.peer];
      peer.max_relative_difference =
          std::max(peer.max_relative_difference, agreement.max_relative_difference);
      if (agreement.ok()) continue;
      peer.agrees = false;
      row_.mismatch += fmt::format("{} differs by {:.2g} of the largest value; ",
                                   candidate.way->name(), agreement.max_relative_difference);
    }
  }

  BenchRow take() { return std::move(row_); }

 private:
  /// fuseplan and all of them in turns; sets their times and returns fuseplan's.
  double time_candidates(std::vector<Candidate>& candidates, const RoundLimits& limits,
                         const Work& between) {
    std::vector<Work> works{[this] {
      weights_.change();
      case_.launch(handle_);
    }};
    for (const Candidate& candidate : candidates)
      works.emplace_back([this, way = candidate.way] {
        weights_.change();
        way->execute();
      });
    const std::vector<double> seconds = interleaved_medians(works, limits, between);
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].us = seconds[i + 1] * 1e6;
    return seconds[0] * 1e6;
  }

  /// Of every peer: the contenders near its fastest, and the fastest of each other role.
  std::vector<Candidate> select_finalists() const {
    constexpr double kNear = 1.12;
    constexpr int kContenders = 3;
    std::vector<Candidate> sorted = candidates_, finalists;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Candidate& a, const Candidate& b) { return a.us < b.us; });
    std::vector<std::vector<Candidate>> chosen(row_.peers.size() * 4);
    for (const Candidate& candidate : sorted) {
      const WayRole role = candidate.way->role();
      auto& same = chosen[candidate.peer * 4 + static_cast<std::size_t>(role)];
      const bool contends = role == WayRole::contender && same.size() < kContenders &&
                            (same.empty() || candidate.us < kNear * same[0].us);
      if (!contends && !same.empty()) continue;
      same.push_back(candidate);
      finalists.push_back(candidate);
    }
    return finalists;
  }

  void record(const Candidate& final) {
    BenchPeer& peer = row_.peers[final.peer];
    peer.ways.push_back(
        {final.way->name(), name_of(final.way->role()), final.way->implementation(), final.us});
    switch (final.way->role()) {
      case WayRole::contender:
        if (!peer.way.empty() && peer.us <= final.us) break;
        peer.way = final.way->name();
        peer.us = final.us;
        break;
      case WayRole::folded:
        peer.folded_us = final.us;
        break;
      case WayRole::free_layout:
        peer.free_layout_us = final.us;
        break;
      case WayRole::beyond:
        peer.beyond_us = final.us;
        break;
    }
  }

  fuseplanHandle_t handle_;
  RowSettings settings_;
  Case case_;
  ChangingWeights weights_;
  std::vector<PeerWays> ways_;
  std::vector<Candidate> candidates_;
  BenchRow row_;
};

}  // namespace

BenchRow measure_row(fuseplanHandle_t handle, const ProblemSpec& problem, const Peers& peers,
                     const RowSettings& settings) {
  Measured measured(handle, problem, settings);
  measured.verify();
  measured.prepare(peers);
  measured.time();
  measured.compare_peers();
  return measured.take();
}

}  // namespace fuseplan::driver
