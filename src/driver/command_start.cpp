// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct StartFlags {
  MeasureOptions measure;
  std::string problem;
};

void start(const StartFlags& flags) {
  using Clock = std::chrono::steady_clock;
  const auto us = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  const auto begin = Clock::now();
  const Handle handle = make_handle(flags.measure);
  const auto has_handle = Clock::now();
  const Plan plan = make<Plan>(fuseplanCreatePlanFromString, flags.problem.c_str());
  check(fuseplanCompilePlan(handle.get(), plan.get()));
  const auto end = Clock::now();
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle.get(), plan.get(), &info));
  const nlohmann::ordered_json json = {{"solver", info.solver},
                                       {"cache", info.cacheHit != 0 ? "hit" : "miss"},
                                       {"handle_us", us(has_handle - begin)},
                                       {"plan_us", us(end - has_handle)},
                                       {"start_us", us(end - begin)}};
  std::puts(json.dump().c_str());
}

}  // namespace

void add_start(CLI::App& app) {
  auto flags = std::make_shared<StartFlags>();
  CLI::App* command = app.add_subcommand(
      "start",
      "What this process waits for its first kernel, with opening the database, as a line of JSON");
  command->add_option("problem", flags->problem, "a problem as text")->required();
  add_handle_flags(*command, flags->measure);
  command->callback([flags] { start(*flags); });
}

}  // namespace fuseplan::driver
