// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cache/disk.hpp"
#include "cache/flights.hpp"
#include "cache/location.hpp"
#include "cache/memory_layer.hpp"
#include "cache/patience.hpp"
#include "cache/row.hpp"
#include "cache/tables.hpp"

namespace fuseplan {

enum class CacheMode {
  rw,   ///< read and store on disk
  ro,   ///< read from disk, store in memory
  mem,  ///< memory only
  off,  ///< build every time
};

struct StoreConfig {
  CacheMode mode = CacheMode::rw;
  std::string directory;  ///< empty: by the environment, see find_place()
  CacheEnvironment environment = CacheEnvironment::current();
  std::uint64_t cap_bytes = std::uint64_t{256} << 20;    ///< of database and journal on disk
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;  ///< of rows kept in memory
  bool synchronous = false;                              ///< wait for the disk at every store
  bool allow_network = false;                            ///< store on network file systems too
  std::chrono::milliseconds lookup_patience{250};  ///< with a locked database; then it is a miss
  std::chrono::milliseconds store_patience{2500};  ///< likewise; then the row is not stored
  /// With another process that builds the same kernel; then it is built here as well.
  std::chrono::milliseconds build_patience{5000};
  long pretend_filesystem = 0;  ///< see DiskConfig
  /// Gets each kind of warning once; empty: the log. Called without locks, from any thread, as long
  /// as the store lives.
  std::function<void(std::string_view)> warn;
};

struct StoreStats {
  std::uint64_t hits_memory = 0, hits_disk = 0, misses = 0, builds = 0;
  std::uint64_t stored = 0;           ///< rows written to disk
  std::uint64_t dropped = 0;          ///< rows that should have been, and were not
  std::uint64_t evicted = 0;          ///< rows deleted to make room
  std::uint64_t rejected_rows = 0;    ///< rows whose digest, lengths or text did not hold
  std::uint64_t busy_timeouts = 0;    ///< times the patience with another process ran out
  std::uint64_t tuning_hits = 0;      ///< tuning results that were found
  std::uint64_t searches = 0;         ///< tuning results that had to be timed
  std::uint64_t set_aside = 0;        ///< damaged databases moved out of the way
  std::uint64_t rows = 0, bytes = 0;  ///< of the database; of the memory layer without one
  std::uint64_t hits() const { return hits_memory + hits_disk; }
};

struct VerifyReport {
  std::uint64_t checked = 0;          ///< rows
  std::uint64_t deleted = 0;          ///< bad rows that were deleted
  std::vector<std::string> problems;  ///< bad rows and whatever else is wrong, one sentence each
};

struct ClearReport {
  std::uint64_t kernels = 0;  ///< that were deleted
  std::string problem;        ///< why those on disk were not; empty: they were, or there is no disk
};

/// The kernels of one directory, for this process. A bad, busy, read-only or missing database makes
/// every call slower, never wrong, and never an error: no function here throws for it. Those whose
/// purpose is a change on disk say why it was not made.
/// All functions may be called from any thread.
class KernelStore {
 public:
  KernelStore(StoreConfig config, const Place& place);
  ~KernelStore();
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;

  /// Takes over what a running store can change: cap_bytes, synchronous and allow_network.
  void reconfigure(const StoreConfig& config);

  std::optional<Row> find(const CacheKey& key);
  void put(const CacheKey& key, const Row& row);
  bool erase(const CacheKey& key);

  std::optional<std::string> find_tuning(const CacheKey& key);
  /// Replaces an older value. Returns why it counts for this process only; empty: it does not, or
  /// memory is what was asked for.
  std::string put_tuning(const CacheKey& key, const std::string& value);

  StoreStats stats();
  std::vector<tables::Entry> list();  ///< most recently used first, unverified
  /// Checks every row, and the file's structure too if asked; deletes bad rows where it may write.
  VerifyReport verify(bool structure);
  ClearReport clear();

  CacheMode mode() const { return config_.mode; }
  /// Path of the database; empty when there is none. A place that is refused is warned of.
  std::string location();

  // For get_or_build().
  enum class Source { none, memory, disk };
  struct Found {
    std::shared_ptr<const Row> row;
    Source source = Source::none;
  };
  Found look_up(const CacheKey& key);  ///< find() without counting
  void keep(const CacheKey& key, const std::shared_ptr<const Row>& row);
  void count(Source source);
  void count_build() { ++counters_.builds; }
  // For get_or_tune() and whoever looks results up.
  void count_tuning_hit() { ++counters_.tuning_hits; }
  void count_search() { ++counters_.searches; }
  /// The lock of processes that build `key`; none where its result could not be shared anyway, or
  /// after waiting for another process for `patience`, or at least for StoreConfig::build_patience.
  std::optional<FileLock> lock_build(const CacheKey& key, std::chrono::milliseconds patience = {});
  FlightTable& flights() { return flights_; }

 private:
  struct Counters {
    std::atomic<std::uint64_t> hits_memory{0}, hits_disk{0}, misses{0}, builds{0}, stored{0},
        dropped{0}, evicted{0}, rejected_rows{0}, busy_timeouts{0}, tuning_hits{0}, searches{0};
  };
  enum class Warning : unsigned {
    place = 1,
    disk = 2,
    damaged = 4,
    row = 8,
    busy = 16,
    memory = 32,
    build = 64
  };
  using Direction = Disk::Direction;

  template <typename Body>
  auto attempt(Direction direction, std::chrono::milliseconds patience, const Body& body);
  template <typename Body>
  auto on_disk(Direction direction, const Body& body, std::string* why = nullptr)
      -> std::optional<std::invoke_result_t<Body, Disk&>>;
  void notice_set_aside(std::uint64_t count);
  void degrade(Direction direction, const CacheFault& fault);
  void warn(Warning kind, std::string_view text);
  void warn_of_disk(std::string_view why);

  bool can_write() const { return disk_ && config_.mode == CacheMode::rw; }
  void store_on_disk(const CacheKey& key, const Row& row);
  void write_row(const CacheKey& key, const StoredRow& row);
  bool insert_row(const CacheKey& key, const StoredRow& row, std::uint64_t room);
  void reject(const CacheKey& key, std::string_view what);
  std::string store_tuning(const CacheKey& key, const std::string& value);
  void remember_tuning(const CacheKey& key, const std::string& value);
  bool note_use(const Digest& key);
  void flush_uses();
  void keep_uses(std::vector<Digest> older);
  template <typename Query>
  auto read_disk(const Query& query, std::string* why = nullptr);
  template <typename Erase>
  bool erase_bad(const Erase& erase);
  std::string check_kernels(VerifyReport& report);
  std::string check_tuning(VerifyReport& report);
  std::string check_structure(VerifyReport& report);
  std::uint64_t forget();
  std::uint64_t clear_disk(Disk& disk);
  std::uint64_t count_set_aside();
  void try_everything_again();

  StoreConfig config_;
  std::string refusal_;
  std::atomic<std::uint64_t> cap_bytes_;
  Counters counters_;
  std::atomic<unsigned> warned_{0};
  std::atomic<std::uint64_t> set_aside_{0};

  // Under fork_state().disk:
  std::unique_ptr<Disk> disk_;
  Patience patience_;

  // Under fork_state().memory:
  MemoryLayer memory_;
  FlightTable flights_;
  std::map<Digest, std::string> tuning_;  // bounded by kTuningInMemory
  unsigned uses_noted_ = 0;
  std::vector<Digest> uses_;  // hits not yet in the database, oldest first
};

/// The store of a directory: one object per process, directory and mode, shared by all who ask
/// while one of them keeps it. Whoever asked last decides cap_bytes, synchronous and allow_network
/// for all of them; the other settings are the first one's.
std::shared_ptr<KernelStore> open_store(const StoreConfig& config);

}  // namespace fuseplan
