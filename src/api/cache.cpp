// SPDX-License-Identifier: MIT
#include "fuseplan/cache.h"

#include "api/guard.hpp"
#include "api/objects.hpp"
#include "base/log.hpp"
#include "cache/store.hpp"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

void copy_text(std::span<char> to, std::string_view text) {
  const std::size_t count = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), count);
  to[count] = '\0';
}

// The value of "solver=" among the lines of a row's readable key.
std::string_view solver_in(std::string_view key_text) {
  constexpr std::string_view kName = "solver=";
  while (!key_text.empty()) {
    const std::string_view line = key_text.substr(0, key_text.find('\n'));
    if (line.starts_with(kName)) return line.substr(kName.size());
    key_text.remove_prefix(std::min(key_text.size(), line.size() + 1));
  }
  return {};
}

fuseplanCacheEntry_t public_form(const tables::Entry& row) {
  fuseplanCacheEntry_t entry{};
  copy_text(entry.key, to_hex(row.key));
  copy_text(entry.solver, solver_in(row.key_text));
  entry.bytes = static_cast<std::uint64_t>(row.stored);
  entry.created = row.created;
  return entry;
}

}  // namespace

fuseplanStatus_t fuseplanCacheGetLocation(fuseplanHandle_t handle, char* text, size_t* size) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    write_text(text, size, object->handle.store().location());
  });
}

fuseplanStatus_t fuseplanCacheGetStatistics(fuseplanHandle_t handle,
                                            fuseplanCacheStatistics_t* statistics) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    required(statistics, "statistics");
    const StoreStats stats = object->handle.store().stats();
    fuseplanCacheStatistics_t answer{};
    answer.hits = stats.hits();
    answer.hitsOnDisk = stats.hits_disk;
    answer.misses = stats.misses;
    answer.builds = stats.builds;
    answer.stored = stats.stored;
    answer.dropped = stats.dropped;
    answer.evicted = stats.evicted;
    answer.rejectedRows = stats.rejected_rows;
    answer.busyTimeouts = stats.busy_timeouts;
    answer.setAside = stats.set_aside;
    answer.rows = stats.rows;
    answer.bytes = stats.bytes;
    answer.tuningHits = stats.tuning_hits;
    answer.searches = stats.searches;
    write_struct(statistics, answer, "statistics");
  });
}

fuseplanStatus_t fuseplanCacheVerify(fuseplanHandle_t handle, fuseplanCacheReport_t* report) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    checked_size(report, "report");  // before all is read, not after
    const VerifyReport found = object->handle.store().verify(true);
    for (const std::string& problem : found.problems)
      log(LogLevel::warning, "cache", "verify: {}", problem);
    write_struct(report, {0, found.checked, found.problems.size(), found.deleted}, "report");
  });
}

fuseplanStatus_t fuseplanCacheClear(fuseplanHandle_t handle) {
  return guard(__func__, [&] {
    const ClearReport cleared = pin(handle, "handle")->handle.store().clear();
    require(cleared.problem.empty(), Status::InternalError,
            "the kernels on disk were not deleted: {}", cleared.problem);
  });
}

fuseplanStatus_t fuseplanCacheList(fuseplanHandle_t handle, int requestCount, int* returnedCount,
                                   fuseplanCacheEntry_t* entries) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    std::vector<fuseplanCacheEntry_t> rows;
    for (const tables::Entry& row : object->handle.store().list()) rows.push_back(public_form(row));
    write_structs(requestCount, returnedCount, entries, rows, "entries");
  });
}
