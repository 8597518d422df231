// SPDX-License-Identifier: MIT
#include "driver/device/measure_device_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "driver/bench/agreement.hpp"
#include "driver/bench/rounds.hpp"
#include "driver/device/buffer.hpp"
#include "driver/device/rotation.hpp"

namespace fuseplan::driver {
namespace {

struct Candidate {
  std::size_t peer;
  DeviceWay way;
  double us = 0;
};

double wall_us(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string all_of(const std::vector<BenchRefusal>& refused) {
  std::string text;
  for (const BenchRefusal& refusal : refused)
    text += (text.empty() ? "" : "; ") + refusal.way + ": " + refusal.reason;
  return text;
}

class Measured {
 public:
  Measured(const DeviceBench& bench, const ProblemSpec& problem, BenchRow& row)
      : bench_(bench),
        row_(row),
        case_(bench.handle, problem),
        input_(bench.handle, case_.input_bytes()),
        output_(bench.handle, case_.output_bytes()) {
    const fuseplanPlanInfo_t info = case_.info();
    row_.solver = info.solver;
    row_.config = info.config;
    row_.compile_us = info.compileMicroseconds;
    row_.cache_hit = info.cacheHit != 0;
    row_.peak_gflops = bench.clock.facts().nominal_gflops(problem.input.type);
    row_.copy_gbps = bench.copy_gbps;
    case_.fill_input(input_.get());
    row_.first_call_us = wall_us([&] {
      case_.launch(input_.get(), output_.get());
      check(fuseplanSynchronize(bench_.handle));
    });
  }

  void verify() {
    const test::Comparison comparison = case_.compare(output_.get());
    row_.verified = comparison.ok();
    row_.max_relative_error = comparison.max_relative_error;
    if (!comparison.ok()) row_.mismatch = comparison.describe();
  }

  void add_peers(const DevicePeers& peers) {
    const test::HostTensor ours = case_.image(output_.get(), 0);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      BenchPeer& peer = row_.peers.emplace_back();
      try {
        DeviceWays found = peers[i]->ways(case_, input_.get(), output_.get());
        if (std::ranges::count(found.ways, WayRole::contender, &DeviceWay::role) == 0) {
          peer.refusal = all_of(found.refused);
          found.ways.clear();
        }
        for (DeviceWay& way : found.ways) candidates_.push_back({i, std::move(way)});
        peer.refused = std::move(found.refused);
      } catch (const std::exception& error) {
        peer.refusal = error.what();
      }
      peer.agrees = true;
    }
    for (const Candidate& candidate : candidates_) compare(candidate, ours);
  }

  void time() {
    Rotation rotation(bench_.handle, bench_.clock.facts(), input_.get(), case_.input_bytes(),
                      case_.output_bytes());
    std::vector<Work> works{[&] {
      const Rotation::Turn turn = rotation.next();
      case_.launch(turn.input, turn.output);
    }};
    for (const Candidate& candidate : candidates_)
      works.emplace_back([&] {
        const Rotation::Turn turn = rotation.next();
        candidate.way.launch(turn.input, turn.output);
      });
    const std::vector<double> seconds =
        interleaved_medians(works, {.seconds = bench_.seconds,
                                    .batch = 3e-3,
                                    .stopwatch = [this](const Work& work, int repeats) {
                                      return bench_.clock.seconds(work, repeats);
                                    }});
    row_.us = seconds[0] * 1e6;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      record(candidates_[i], seconds[i + 1] * 1e6);
  }

 private:
  void compare(const Candidate& candidate, const test::HostTensor& ours) {
    BenchPeer& peer = row_.peers[candidate.peer];
    candidate.way.launch(input_.get(), output_.get());
    const bool tf32 = candidate.way.rounds_inputs || case_.rounds_inputs();
    const Agreement agreement = agree(ours, case_.image(output_.get(), 0), tf32);
    peer.max_relative_difference =
        std::max(peer.max_relative_difference, agreement.max_relative_difference);
    if (agreement.ok()) return;
    peer.agrees = false;
    row_.mismatch += fmt::format("{} differs by {:.2g} of the largest value; ", candidate.way.name,
                                 agreement.max_relative_difference);
  }

  void record(const Candidate& candidate, double us) {
    BenchPeer& peer = row_.peers[candidate.peer];
    const DeviceWay& way = candidate.way;
    peer.ways.push_back({way.name, name_of(way.role), way.implementation, us, way.plan});
    const auto keep = [us](std::optional<double>& best) { best = std::min(best.value_or(us), us); };
    if (way.role == WayRole::folded) return keep(peer.folded_us);
    if (way.role == WayRole::free_layout) return keep(peer.free_layout_us);
    if (way.role == WayRole::beyond) return keep(peer.beyond_us);
    if (!peer.way.empty() && peer.us <= us) return;
    peer.way = way.name;
    peer.us = us;
  }

  const DeviceBench& bench_;
  BenchRow& row_;
  BatchedCase case_;
  DeviceBuffer input_, output_;
  std::vector<Candidate> candidates_;
};

}  // namespace

BenchRow measure_device_row(const DeviceBench& bench, const ProblemSpec& problem,
                            const DevicePeers& peers) {
  BenchRow row;
  row.name = problem.name;
  row.problem = to_text(problem);
  row.count = problem.count;
  row.published_speedup = problem.published_speedup;
  row.flops = problem.conv_flops();
  row.bytes = problem.bytes();
  Measured measured(bench, problem, row);
  measured.verify();
  measured.add_peers(peers);
  measured.time();
  return row;
}

}  // namespace fuseplan::driver
