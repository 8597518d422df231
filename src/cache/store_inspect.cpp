// SPDX-License-Identifier: MIT
// What `cache stats | list | verify | clear` ask of a store.
#include <fmt/format.h>

#include "cache/store_attempt.hpp"

namespace fuseplan {

StoreStats KernelStore::stats() {
  const auto on_file = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([](auto& database) {
      return std::pair(tables::count_kernels(database), tables::file_bytes(database));
    });
  });
  StoreStats stats{counters_.hits_memory, counters_.hits_disk,     counters_.misses,
                   counters_.builds,      counters_.stored,        counters_.dropped,
                   counters_.evicted,     counters_.rejected_rows, counters_.busy_timeouts,
                   counters_.tuning_hits, counters_.searches,      set_aside_};
  std::lock_guard lock(fork_state().memory);
  stats.rows = on_file ? on_file->first : memory_.rows();
  stats.bytes = on_file ? on_file->second : memory_.bytes();
  return stats;
}

std::vector<tables::Entry> KernelStore::list() {
  auto entries = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([](auto& database) { return tables::list_kernels(database); });
  });
  if (entries) return std::move(*entries);
  std::vector<tables::Entry> in_memory;
  std::lock_guard lock(fork_state().memory);
  memory_.each([&](const CacheKey& key, const Row& row) {
    const auto bytes = static_cast<std::int64_t>(row.blob.size());
    in_memory.push_back({0, key.digest, key.text, row.meta, bytes, bytes, 0, 0});
  });
  return in_memory;
}

VerifyReport KernelStore::verify(bool structure) {
  VerifyReport report;
  if (!disk_) return report;
  check_kernels(report);
  check_tuning(report);
  if (!structure) return report;
  const auto lines = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([](auto& database) { return tables::check_structure(database); });
  });
  if (!lines) report.problems.emplace_back("the structure of the file could not be checked");
  if (lines) report.problems.insert(report.problems.end(), lines->begin(), lines->end());
  return report;
}

template <typename Erase>
bool KernelStore::erase_bad(const Erase& erase) {
  return on_disk(Direction::write,
                 [&](Disk& disk) {
                   return disk.write([&](auto& database) { return erase(database), true; });
                 })
      .has_value();
}

void KernelStore::check_kernels(VerifyReport& report) {
  const auto entries = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([](auto& database) { return tables::list_kernels(database); });
  });
  if (!entries) {
    report.problems.emplace_back("the database could not be read");
    return;
  }
  for (const tables::Entry& entry : *entries) {
    const auto stored = on_disk(Direction::read, [&](Disk& disk) {
      return disk.read([&](auto& database) { return tables::read_kernel(database, entry.id); });
    });
    if (!stored || !*stored) continue;  // deleted since, or reported by degrade()
    ++report.checked;
    if (unpack_row({entry.key, (*stored)->key_text}, **stored)) continue;
    ++report.bad;
    report.problems.push_back(
        fmt::format("kernel {} does not match its digest", to_hex(entry.key)));
    if (can_write() && erase_bad([&](auto& database) { tables::erase_kernel(database, entry.id); }))
      ++report.deleted;
  }
}

void KernelStore::check_tuning(VerifyReport& report) {
  const auto rows = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([](auto& database) { return tables::list_tuning(database); });
  });
  if (!rows) return;
  for (const tables::TuningRow& row : *rows) {
    ++report.checked;
    if (equal_digest(row.digest, tuning_digest({row.key, row.key_text}, row.value))) continue;
    ++report.bad;
    report.problems.push_back(
        fmt::format("tuning result {} does not match its digest", to_hex(row.key)));
    if (can_write() && erase_bad([&](auto& database) { tables::erase_tuning(database, row.id); }))
      ++report.deleted;
  }
}

std::uint64_t KernelStore::clear() {
  std::uint64_t rows = 0;
  {
    std::lock_guard lock(fork_state().memory);
    rows = memory_.rows();
    memory_.clear();
    tuning_.clear();
    uses_.clear();
  }
  if (!can_write()) return rows;
  const auto deleted = on_disk(Direction::write, [](Disk& disk) {
    const std::uint64_t count = disk.write([](auto& database) {
      const std::uint64_t kernels = tables::count_kernels(database);
      tables::clear(database);
      return kernels;
    });
    disk.shrink();
    return count;
  });
  return deleted.value_or(rows);
}

}  // namespace fuseplan
