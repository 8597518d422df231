// SPDX-License-Identifier: MIT
#include "driver/bench/measure_creation.hpp"

#include <stdexcept>

#include "driver/bench/rounds.hpp"

namespace fuseplan::driver {
namespace {

// Arguments of the execution, which a plan does not have.
std::string plan_text(ProblemSpec problem) {
  for (OpSpec& op : problem.ops) op.parameters.reset();
  return to_text(problem);
}

void create(fuseplanHandle_t handle, const std::string& text) {
  const Plan plan = make<Plan>(fuseplanCreatePlanFromString, text.c_str());
  check(fuseplanCompilePlan(handle, plan.get()));
}

// A plan that came out of some cache after all would be a wrong answer.
std::string solver_of_uncached(fuseplanHandle_t handle, const std::string& text) {
  create(handle, text);
  const Plan plan = make<Plan>(fuseplanCreatePlanFromString, text.c_str());
  check(fuseplanCompilePlan(handle, plan.get()));
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle, plan.get(), &info));
  if (info.cacheHit != 0) throw std::logic_error("creation: the plan came out of a cache");
  return info.solver;
}

}  // namespace

BenchRow measure_creation(fuseplanHandle_t handle, const ProblemSpec& problem, const Peers& peers,
                          const RowSettings& settings) {
  BenchRow row;
  row.name = problem.name;
  row.problem = plan_text(problem);
  row.count = problem.count;
  row.solver = solver_of_uncached(handle, row.problem);
  row.verified = true;  // nothing runs
  Case data(problem);
  std::vector<Work> works{[&] { create(handle, row.problem); }};
  for (const auto& peer : peers) {
    BenchPeer& entry = row.peers.emplace_back();
    Work& work = works.emplace_back([] {});
    try {
      const Work creation = peer->creation(data, {settings.threads, settings.raw_weights});
      creation();
      work = creation;
    } catch (const std::exception& error) {
      entry.refusal = error.what();
    }
  }
  const Pinned pinned(settings.threads == 1);
  const std::vector<double> seconds =
      interleaved_medians(works, {.seconds = settings.seconds, .batch = 1e-3, .rounds = 15});
  row.us = seconds[0] * 1e6;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    BenchPeer& entry = row.peers[i];
    if (!entry.ran()) continue;
    entry.agrees = true;
    entry.way = "creation";
    entry.us = seconds[i + 1] * 1e6;
    entry.ways = {{entry.way, name_of(WayRole::contender), "", entry.us}};
  }
  return row;
}

}  // namespace fuseplan::driver
