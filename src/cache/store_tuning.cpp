// SPDX-License-Identifier: MIT
// Results of searches, which are few and small, and are kept like kernels.
#include "cache/store_attempt.hpp"

namespace fuseplan {
namespace {

constexpr std::size_t kTuningInMemory = 4096;
constexpr std::uint64_t kTuningOverhead = 2 * 4096;  // partly filled pages, index entries

}  // namespace

std::optional<std::string> KernelStore::find_tuning(const CacheKey& key) {
  if (config_.mode == CacheMode::off) return std::nullopt;
  {
    std::lock_guard lock(fork_state().memory);
    const auto known = tuning_.find(key.digest);
    if (known != tuning_.end()) return known->second;
  }
  const auto found = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([&](auto& database) { return tables::find_tuning(database, key.digest); });
  });
  if (!found || !*found) return std::nullopt;
  const tables::TuningRow& row = **found;
  if (row.key_text != key.text || !equal_digest(row.digest, tuning_digest(key, row.value))) {
    reject(key, "tuning result");
    return std::nullopt;
  }
  remember_tuning(key, row.value);
  return row.value;
}

void KernelStore::remember_tuning(const CacheKey& key, const std::string& value) {
  std::lock_guard lock(fork_state().memory);
  if (tuning_.size() >= kTuningInMemory) tuning_.clear();
  tuning_[key.digest] = value;
}

std::string KernelStore::put_tuning(const CacheKey& key, const std::string& value) {
  if (config_.mode == CacheMode::off) return "the cache is off";
  remember_tuning(key, value);
  if (config_.mode == CacheMode::mem) return {};
  if (config_.mode == CacheMode::ro) return "the cache is read-only";
  if (!disk_) return refusal_;
  std::string why = store_tuning(key, value);
  if (!why.empty()) ++counters_.dropped;
  return why;
}

std::string KernelStore::store_tuning(const CacheKey& key, const std::string& value) {
  const std::uint64_t room = key.text.size() + value.size() + kTuningOverhead;
  if (room > cap_bytes_ / 4) return "it takes more than a quarter of the cache";
  std::uint64_t evicted = 0;
  const auto write = [&](Disk& disk, std::uint64_t bytes) {
    return disk.write([&](auto& database) {
      evicted = tables::make_room(database, bytes, cap_bytes_);
      tables::replace_tuning(database, key, value);
      return true;
    });
  };
  const auto store = [&](Disk& disk) {
    with_room(room, [&](std::uint64_t bytes) { return write(disk, bytes); });
    disk.keep_below_cap();
    return true;
  };
  std::string why;
  if (on_disk(Direction::write, store, &why)) counters_.evicted += evicted;
  return why;
}

}  // namespace fuseplan
