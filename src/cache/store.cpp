// SPDX-License-Identifier: MIT
#include "cache/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "cache/store_attempt.hpp"

namespace fuseplan {
namespace {

constexpr unsigned kUsesBeforeFlush = 64;
constexpr std::ptrdiff_t kUsesKept = 128;
constexpr std::uint64_t kRowOverhead = 3 * 4096;  // partly filled pages, index entries

DiskSettings settings_of(const StoreConfig& config) {
  return {config.synchronous, config.allow_network, config.cap_bytes};
}

}  // namespace

KernelStore::KernelStore(StoreConfig config, const Place& place)
    : config_(std::move(config)),
      refusal_(place.refusal),
      cap_bytes_(config_.cap_bytes),
      memory_(config_.memory_bytes) {
  if (config_.mode == CacheMode::mem || config_.mode == CacheMode::off) return;
  if (!refusal_.empty()) {
    warn(Warning::place, fmt::format("kernels are kept in memory only: {}", refusal_));
    return;
  }
  disk_ = std::make_unique<Disk>(DiskConfig{place.directory, config_.mode == CacheMode::ro,
                                            settings_of(config_), config_.pretend_filesystem});
}

void KernelStore::reconfigure(const StoreConfig& config) {
  cap_bytes_ = config.cap_bytes;
  if (!disk_) return;
  std::lock_guard lock(fork_state().disk);
  disk_->change(settings_of(config));
}

KernelStore::~KernelStore() {
  flush_uses();
  std::lock_guard lock(fork_state().disk);
  disk_.reset();
}

std::optional<Row> KernelStore::find(const CacheKey& key) {
  const Found found = look_up(key);
  count(found.source);
  if (!found.row) return std::nullopt;
  return *found.row;
}

KernelStore::Found KernelStore::look_up(const CacheKey& key) {
  if (config_.mode == CacheMode::off) return {};
  bool flush_due = false;
  std::shared_ptr<const Row> shared;
  {
    std::lock_guard lock(fork_state().memory);
    shared = memory_.find(key);
    if (shared) flush_due = note_use(key.digest);
  }
  if (flush_due) flush_uses();
  if (shared) return {std::move(shared), Source::memory};
  const auto stored = on_disk(Direction::read, [&](Disk& disk) {
    return disk.read([&](auto& database) { return tables::find_kernel(database, key.digest); });
  });
  if (!stored || !*stored) return {};
  std::optional<Row> row = unpack_row(key, **stored);
  if (!row) {
    reject(key, "kernel");
    return {};
  }
  shared = std::make_shared<const Row>(std::move(*row));
  {
    std::lock_guard lock(fork_state().memory);
    memory_.insert(key, shared);
    flush_due = note_use(key.digest);
  }
  if (flush_due) flush_uses();
  return {std::move(shared), Source::disk};
}

void KernelStore::count(Source source) {
  switch (source) {
    case Source::none:
      ++counters_.misses;
      break;
    case Source::memory:
      ++counters_.hits_memory;
      break;
    case Source::disk:
      ++counters_.hits_disk;
      break;
  }
}

void KernelStore::put(const CacheKey& key, const Row& row) {
  keep(key, std::make_shared<const Row>(row));
}

void KernelStore::keep(const CacheKey& key, const std::shared_ptr<const Row>& row) {
  if (config_.mode == CacheMode::off) return;
  try {
    {
      std::lock_guard lock(fork_state().memory);
      memory_.insert(key, row);
    }
    if (can_write()) store_on_disk(key, *row);
  } catch (const std::bad_alloc&) {
    ++counters_.dropped;
    degrade(Direction::read, CacheFault(Fault::memory, "out of memory"));
  }
}

void KernelStore::store_on_disk(const CacheKey& key, const Row& row) {
  const StoredRow stored = pack_row(key, row);
  if (row.blob.size() > kMaxBlobBytes || stored.bytes() + kRowOverhead > cap_bytes_ / 4) {
    ++counters_.dropped;
    return;
  }
  try {
    write_row(key, stored);
  } catch (const CacheFault& fault) {
    ++counters_.dropped;
    degrade(Direction::write, fault);
  }
}

void KernelStore::write_row(const CacheKey& key, const StoredRow& row) {
  const auto insert = [&](std::uint64_t room) { return insert_row(key, row, room); };
  const std::uint64_t room = row.bytes() + kRowOverhead;
  // What was there and was bad is gone at the second try.
  if (!with_room(room, insert) && !with_room(room, insert)) ++counters_.dropped;
}

// False when the row that is there now is bad, and has been dealt with as far as possible.
bool KernelStore::insert_row(const CacheKey& key, const StoredRow& row, std::uint64_t room) {
  std::vector<Digest> uses;
  {
    std::lock_guard lock(fork_state().memory);
    uses.swap(uses_);
  }
  std::uint64_t evicted = 0;
  bool inserted = false;
  const auto transaction = [&](sqlite::Connection& database) {
    tables::touch_kernels(database, uses);
    evicted = tables::make_room(database, room, cap_bytes_);
    inserted = tables::insert_kernel(database, key.digest, row);
    // In a damaged tree a row can be stored where no lookup finds it.
    auto present = tables::find_kernel(database, key.digest);
    if (!present) throw CacheFault(Fault::damaged, "a stored row cannot be found");
    return std::move(*present);
  };
  StoredRow present;
  try {
    present = attempt(Direction::write, config_.store_patience, [&](Disk& disk) {
      auto row_there = disk.write(transaction);
      disk.keep_below_cap();
      return row_there;
    });
  } catch (...) {
    keep_uses(std::move(uses));
    throw;
  }
  counters_.evicted += evicted;
  counters_.stored += inserted;
  // It may be another's, which was faster or was refused by the lookup before and not deleted.
  if (unpack_row(key, present)) return true;
  reject(key, "kernel");
  return false;
}

bool KernelStore::erase(const CacheKey& key) {
  bool erased = false;
  {
    std::lock_guard lock(fork_state().memory);
    erased = memory_.erase(key.digest);
  }
  if (!can_write()) return erased;
  const auto on_file = on_disk(Direction::write, [&](Disk& disk) {
    return disk.write([&](auto& database) { return tables::erase_kernel(database, key.digest); });
  });
  return erased || on_file.value_or(false);
}

void KernelStore::reject(const CacheKey& key, std::string_view what) {
  ++counters_.rejected_rows;
  warn(Warning::row, fmt::format("a stored {} does not match its digest and is not used", what));
  if (!can_write()) return;
  on_disk(Direction::write, [&](Disk& disk) {
    return disk.write([&](auto& database) {
      // Rows that share a page by mistake would go on destroying each other.
      tables::require_sound_pages(database);
      tables::erase_tuning(database, key.digest);
      return tables::erase_kernel(database, key.digest);
    });
  });
}

// Under fork_state().memory. True when it is time for flush_uses().
bool KernelStore::note_use(const Digest& key) {
  if (!can_write()) return false;
  std::erase(uses_, key);
  uses_.push_back(key);
  if (std::ssize(uses_) > kUsesKept) uses_.erase(uses_.begin());
  return ++uses_noted_ % kUsesBeforeFlush == 0;
}

void KernelStore::keep_uses(std::vector<Digest> older) {
  std::lock_guard lock(fork_state().memory);
  for (const Digest& key : uses_) {
    std::erase(older, key);
    older.push_back(key);
  }
  if (older.size() > kUsesBeforeFlush) older.erase(older.begin(), older.end() - kUsesBeforeFlush);
  uses_ = std::move(older);
}

// One try: the order of use is not worth waiting for.
void KernelStore::flush_uses() {
  if (!can_write()) return;
  std::vector<Digest> uses;
  {
    std::lock_guard lock(fork_state().memory);
    uses.swap(uses_);
  }
  if (uses.empty()) return;
  try {
    attempt(Direction::write, std::chrono::milliseconds(0), [&](Disk& disk) {
      return disk.write([&](auto& database) {
        tables::touch_kernels(database, uses);
        return true;
      });
    });
  } catch (const std::exception&) {
    keep_uses(std::move(uses));
  }
}

}  // namespace fuseplan
