// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct CacheFlags {
  MeasureOptions measure;
  bool json = false;
};
using CacheCommand = void (*)(fuseplanHandle_t handle, bool json);

// A path or a damaged row may hold bytes that are no UTF-8.
std::string text_of_json(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print(const nlohmann::ordered_json& object, bool json) {
  if (json) {
    std::puts(text_of_json(object, 2).c_str());
    return;
  }
  for (const auto& [key, value] : object.items())
    std::puts(
        fmt::format("{:<16} {}", key, value.is_string() ? value.get<std::string>() : value.dump())
            .c_str());
}

void print_statistics(fuseplanHandle_t handle, bool json) {
  fuseplanCacheStatistics_t s = {};
  s.structSize = sizeof s;
  check(fuseplanCacheGetStatistics(handle, &s));
  const std::string location = text_of(
      [&](char* text, std::size_t* size) { return fuseplanCacheGetLocation(handle, text, size); });
  print({{"location", location},
         {"rows", s.rows},
         {"bytes", s.bytes},
         {"hits", s.hits},
         {"hits_on_disk", s.hitsOnDisk},
         {"misses", s.misses},
         {"builds", s.builds},
         {"stored", s.stored},
         {"dropped", s.dropped},
         {"evicted", s.evicted},
         {"rejected_rows", s.rejectedRows},
         {"busy_timeouts", s.busyTimeouts},
         {"set_aside", s.setAside},
         {"tuning_hits", s.tuningHits},
         {"searches", s.searches}},
        json);
}

void print_list(fuseplanHandle_t handle, bool json) {
  int count = 0;
  check(fuseplanCacheList(handle, 0, &count, nullptr));
  std::vector<fuseplanCacheEntry_t> entries(static_cast<std::size_t>(count));
  if (count > 0) {
    entries[0].structSize = sizeof entries[0];
    check(fuseplanCacheList(handle, count, &count, entries.data()));
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const fuseplanCacheEntry_t& entry : entries) {
    list.push_back({{"key", entry.key},
                    {"solver", entry.solver},
                    {"bytes", entry.bytes},
                    {"created", entry.created}});
    if (!json)
      std::puts(
          fmt::format("{:.16}  {:<14} {:>8} bytes", entry.key, entry.solver, entry.bytes).c_str());
  }
  if (json) std::puts(text_of_json(list, 2).c_str());
}

void print_line(void*, fuseplanLogLevel_t, const char* line) { std::fprintf(stderr, "%s\n", line); }

// The problems themselves are in the log.
void verify(fuseplanHandle_t handle, bool json) {
  check(fuseplanSetLogCallback(print_line, nullptr));
  fuseplanCacheReport_t report = {};
  report.structSize = sizeof report;
  check(fuseplanCacheVerify(handle, &report));
  print({{"checked", report.checked}, {"bad", report.bad}, {"deleted", report.deleted}}, json);
  if (report.bad > 0) throw ExitCode{1};
}

void clear(fuseplanHandle_t handle, bool) { check(fuseplanCacheClear(handle)); }

}  // namespace

void add_cache(CLI::App& app) {
  struct Row {
    const char *name, *sentence;
    CacheCommand run;
  };
  constexpr Row kCommands[] = {
      {"stats", "where the kernel database is and what it counted", print_statistics},
      {"list", "the kernels in it, most recently used first", print_list},
      {"verify", "check every row and the file; damaged rows are deleted", verify},
      {"clear", "delete all kernels", clear}};
  CLI::App* cache = app.add_subcommand("cache", "The kernel database");
  cache->require_subcommand(1);
  for (const Row& row : kCommands) {
    auto flags = std::make_shared<CacheFlags>();
    CLI::App* command = cache->add_subcommand(row.name, row.sentence);
    add_handle_flags(*command, flags->measure);
    command->add_flag("--json", flags->json, "print JSON");
    command->callback(
        [flags, run = row.run] { run(make_handle(flags->measure).get(), flags->json); });
  }
}

}  // namespace fuseplan::driver
