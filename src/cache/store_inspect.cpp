// SPDX-License-Identifier: MIT
// What `cache stats | list | verify | clear` ask of a store.
#include <fmt/format.h>

#include "cache/store_attempt.hpp"

namespace fuseplan {

// What `query` makes of the database; nothing, and why, where it cannot be read.
template <typename Query>
auto KernelStore::read_disk(const Query& query, std::string* why) {
  return on_disk(
      Direction::read, [&](Disk& disk) { return disk.read(query); }, why);
}

StoreStats KernelStore::stats() {
  const auto on_file = read_disk([](auto& database) {
    return std::pair(tables::count_kernels(database), tables::file_bytes(database));
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
  auto entries = read_disk([](auto& database) { return tables::list_kernels(database); });
  if (entries) return std::move(*entries);
  std::vector<tables::Entry> in_memory;
  std::lock_guard lock(fork_state().memory);
  memory_.each([&](const CacheKey& key, const Row& row) {
    const auto bytes = static_cast<std::int64_t>(row.blob.size());
    in_memory.push_back({0, key.digest, key.text, row.meta, bytes, bytes, 0, 0});
  });
  return in_memory;
}

// For whoever asks by hand: what failed a moment ago is tried again, with full patience.
void KernelStore::try_everything_again() {
  std::lock_guard lock(fork_state().disk);
  patience_.restore();
  disk_->resume();
}

std::uint64_t KernelStore::count_set_aside() {
  std::lock_guard lock(fork_state().disk);
  return disk_->set_aside_count();
}

VerifyReport KernelStore::verify(bool structure) {
  VerifyReport report;
  if (config_.mode == CacheMode::mem || config_.mode == CacheMode::off) return report;
  if (!disk_) {
    report.problems.push_back(refusal_);
    return report;
  }
  try_everything_again();
  const std::uint64_t set_aside = count_set_aside();
  std::string why = check_kernels(report);
  if (why.empty()) why = check_tuning(report);
  if (why.empty() && structure) why = check_structure(report);
  if (!why.empty())
    report.problems.push_back(fmt::format("{} could not be read: {}", disk_->path(), why));
  const std::uint64_t set_aside_now = count_set_aside();
  if (set_aside_now != set_aside)
    report.problems.push_back(
        fmt::format("{} was damaged: it was set aside and a new one begun", disk_->path()));
  notice_set_aside(set_aside_now);
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

// These three return why the check could not be finished.
std::string KernelStore::check_kernels(VerifyReport& report) {
  std::string why;
  const auto entries =
      read_disk([](auto& database) { return tables::list_kernels(database); }, &why);
  if (!entries) return why;
  for (const tables::Entry& entry : *entries) {
    const auto stored =
        read_disk([&](auto& database) { return tables::read_kernel(database, entry.id); }, &why);
    if (!stored) return why;
    if (!*stored) continue;  // deleted since
    ++report.checked;
    if (unpack_row({entry.key, (*stored)->key_text}, **stored)) continue;
    report.problems.push_back(
        fmt::format("kernel {} does not match its digest", to_hex(entry.key)));
    if (can_write() && erase_bad([&](auto& database) { tables::erase_kernel(database, entry.id); }))
      ++report.deleted;
  }
  return {};
}

std::string KernelStore::check_tuning(VerifyReport& report) {
  std::string why;
  const auto rows = read_disk([](auto& database) { return tables::list_tuning(database); }, &why);
  if (!rows) return why;
  for (const tables::TuningRow& row : *rows) {
    ++report.checked;
    if (equal_digest(row.digest, tuning_digest({row.key, row.key_text}, row.value))) continue;
    report.problems.push_back(
        fmt::format("tuning result {} does not match its digest", to_hex(row.key)));
    if (can_write() && erase_bad([&](auto& database) { tables::erase_tuning(database, row.id); }))
      ++report.deleted;
  }
  return {};
}

std::string KernelStore::check_structure(VerifyReport& report) {
  std::string why;
  const auto lines =
      read_disk([](auto& database) { return tables::check_structure(database); }, &why);
  if (lines) report.problems.insert(report.problems.end(), lines->begin(), lines->end());
  return why;
}

ClearReport KernelStore::clear() {
  ClearReport report{forget(), {}};
  if (config_.mode == CacheMode::mem || config_.mode == CacheMode::off) return report;
  if (config_.mode == CacheMode::ro) report.problem = "the cache is read-only";
  if (config_.mode == CacheMode::rw && !disk_) report.problem = refusal_;
  if (!can_write()) return report;
  try_everything_again();
  const auto deleted = on_disk(
      Direction::write, [&](Disk& disk) { return clear_disk(disk); }, &report.problem);
  if (deleted) report.kernels = *deleted;
  return report;
}

// The number of rows in memory.
std::uint64_t KernelStore::forget() {
  std::lock_guard lock(fork_state().memory);
  const std::uint64_t rows = memory_.rows();
  memory_.clear();
  tuning_.clear();
  uses_.clear();
  return rows;
}

// A full disk has no room for the journal that deleting rows takes: there the file itself goes.
std::uint64_t KernelStore::clear_disk(Disk& disk) {
  std::uint64_t kernels = 0;
  try {
    disk.write([&](auto& database) {
      kernels = tables::count_kernels(database);
      tables::clear(database);
      return true;
    });
    disk.shrink();
  } catch (const CacheFault& fault) {
    if (fault.fault() != Fault::full) throw;
    disk.discard();
  }
  return kernels;
}

}  // namespace fuseplan
