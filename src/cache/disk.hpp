// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cache/file_lock.hpp"
#include "cache/private_file.hpp"
#include "cache/signals.hpp"
#include "cache/sqlite.hpp"

namespace fuseplan {

/// The schema version is part of the name, so that no version ever touches another's file.
inline constexpr char kDatabaseFile[] = "kernels-v1.db";

/// What may be changed while the database is in use.
struct DiskSettings {
  bool synchronous = false;     ///< wait for the disk at commits
  bool allow_network = false;   ///< write on network file systems too
  std::uint64_t cap_bytes = 0;  ///< of database and journal
  bool operator==(const DiskSettings&) const = default;
};

struct DiskConfig {
  std::string directory;  ///< of find_place()
  bool read_only = false;
  DiskSettings settings;
  long pretend_filesystem = 0;  ///< for tests: the statfs magic to believe; 0 asks the kernel
};

/// The database file: opened when first needed and whenever it has to be again, set aside when it
/// is damaged. All calls are made under fork_state().disk; every failure is a CacheFault.
class Disk {
 public:
  enum class Direction { read, write };

  explicit Disk(DiskConfig config) : config_(std::move(config)) {}
  ~Disk();

  /// From the next access on.
  void change(const DiskSettings& settings);

  std::string path() const { return config_.directory + "/" + kDatabaseFile; }

  /// body(connection), on an open, verified database. A file that moved is reopened, a damaged one
  /// is reopened and then replaced, and the body runs again.
  template <typename Body>
  auto read(const Body& body) {
    return healing(Direction::read, [&] { return body(connection()); });
  }

  /// The same inside a transaction; body may run more than once, but commits once.
  template <typename Body>
  auto write(const Body& body) {
    return healing(Direction::write, [&] {
      sqlite::Connection& database = writable_connection();
      const FileLock guard = hold_in_place();
      sqlite::Transaction transaction(database);
      if (database.moved()) throw CacheFault(Fault::moved, "the database was replaced");
      auto result = body(database);
      note_size(database);
      transaction.commit();
      return result;
    });
  }

  /// Outside any transaction, best effort: gives freed pages back to the file system.
  void shrink();
  /// The same where the file is larger than the cap, which was higher once; at most once a minute.
  void keep_below_cap();

  /// Deletes the file, where there is no room to delete its rows.
  void discard();

  /// No writes for a second: the disk is full, read-only or failing, as `reason` says.
  void pause_writes(std::string reason);
  bool writes_paused() const;
  /// The pauses end here.
  void resume() { open_after_ = write_after_ = shrink_after_ = {}; }
  bool read_only() const { return config_.read_only || network_ != nullptr; }

  /// Opens the directory for locks that outlive one call. No descriptor when it is not usable.
  Descriptor directory() const;

  /// Why nothing here is opened: the place, or a file in it. Empty: it is, or can be made.
  std::string refusal() const;

  std::uint64_t set_aside_count() const { return set_aside_; }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Body>
  auto healing(Direction direction, const Body& body) {
    const WriteSignalShield shield;  // opening may roll a journal back, and so write
    for (int faults = 0;; ++faults) {
      try {
        return body();
      } catch (const CacheFault& fault) {
        if (!recover(direction, fault, faults)) throw;
      }
    }
  }

  bool recover(Direction direction, const CacheFault& fault, int faults_before);
  sqlite::Connection& connection();
  sqlite::Connection& writable_connection();
  void open();
  void prepare_schema();
  void prepare_writes(sqlite::Connection& database);
  void limit_growth(sqlite::Connection& database) const;
  void note_size(sqlite::Connection& database);
  void pause_opens(const CacheFault& fault);
  void close();
  void replace_damaged();
  FileLock hold_alone(const Descriptor& directory) const;
  FileLock hold_in_place() const;

  DiskConfig config_;
  std::unique_ptr<sqlite::Connection> connection_;
  Generation generation_;
  FileIdentity identity_;  // of the file opened last
  Clock::time_point open_after_{}, write_after_{}, shrink_after_{};
  std::string open_error_, write_error_;
  std::uint64_t set_aside_ = 0;
  bool is_above_cap_ = false;      // after the last write
  const char* network_ = nullptr;  // name of the network file system it is on
};

}  // namespace fuseplan
