// SPDX-License-Identifier: MIT
#include "cache/disk.hpp"

#include <fmt/format.h>

#include "cache/location.hpp"
#include "cache/schema_state.hpp"
#include "cache/tables.hpp"

namespace fuseplan {
namespace {

constexpr std::chrono::seconds kProbeInterval{1};
constexpr std::chrono::minutes kShrinkInterval{1};
constexpr std::chrono::milliseconds kMaintenancePatience{50};  // as SQLite's; retried like it
constexpr const char* kCompanions[] = {"kernels-v1.db-journal", kLockFile};

}  // namespace

Disk::~Disk() { close(); }

void Disk::close() {
  // A connection that crossed a fork belongs to the parent: closing would disturb its locks.
  if (connection_ && generation_.stale()) connection_->abandon();
  connection_.reset();
}

// The connection is opened anew, by SQLite itself, whose locks survive that.
void Disk::change(const DiskSettings& settings) {
  if (settings == config_.settings) return;
  close();
  config_.settings = settings;
  resume();
}

sqlite::Connection& Disk::connection() {
  if (generation_.stale()) {
    close();
    generation_ = Generation();
    open_after_ = {};
  }
  if (connection_ && connection_->moved()) close();
  if (connection_) return *connection_;
  if (Clock::now() < open_after_) throw CacheFault(Fault::trouble, open_error_);
  try {
    open();
  } catch (const CacheFault& fault) {
    close();
    if (fault.fault() == Fault::trouble || fault.fault() == Fault::full) pause_opens(fault);
    throw;
  }
  return *connection_;
}

sqlite::Connection& Disk::writable_connection() {
  if (writes_paused()) throw CacheFault(Fault::paused, write_error_);
  sqlite::Connection& database = connection();
  if (network_ != nullptr)
    throw CacheFault(Fault::trouble,
                     fmt::format("{} is on {}, where nothing is stored", path(), network_));
  if (config_.read_only) throw CacheFault(Fault::trouble, "the cache is read-only");
  if (database.read_only()) {
    close();  // the next probe asks the file system again
    throw CacheFault(Fault::trouble, fmt::format("{} cannot be written", path()));
  }
  prepare_writes(database);
  return database;
}

void Disk::pause_opens(const CacheFault& fault) {
  open_after_ = Clock::now() + kProbeInterval;
  open_error_ = fault.what();
}

void Disk::open() {
  const Descriptor directory = open_directory(config_.directory, !config_.read_only);
  const long magic =
      config_.pretend_filesystem != 0 ? config_.pretend_filesystem : filesystem_magic(directory);
  network_ = config_.settings.allow_network ? nullptr : network_filesystem(magic);
  FileIdentity before;
  if (!inspect_file(directory, kDatabaseFile, &before)) {
    if (read_only())
      throw CacheFault(Fault::trouble, fmt::format("there is no {} to read", path()));
    create_file(directory, kDatabaseFile);
    inspect_file(directory, kDatabaseFile, &before);
  }
  for (const char* companion : kCompanions) inspect_file(directory, companion);
  identity_ = before;
  connection_ = std::make_unique<sqlite::Connection>(
      path(), read_only() ? sqlite::Access::read_only : sqlite::Access::read_write);
  FileIdentity after;
  if (!inspect_file(directory, kDatabaseFile, &after) || after != before || connection_->moved())
    throw CacheFault(Fault::moved, "the database was replaced while it was opened");
  prepare_schema();
}

void Disk::prepare_schema() {
  sqlite::Connection& database = *connection_;
  if (schema::inspect(database) == schema::State::current) return;
  if (read_only() || database.read_only())
    throw CacheFault(Fault::trouble, fmt::format("{} is empty", path()));
  prepare_writes(database);
  sqlite::Transaction transaction(database);
  if (schema::inspect(database) == schema::State::empty) schema::create(database);
  transaction.commit();
}

// Most processes only read what others have stored; the settings of writers wait for the first
// write.
void Disk::prepare_writes(sqlite::Connection& database) {
  if (database.prepare_writes(config_.settings.synchronous)) limit_growth(database);
}

// SQLite raises a limit that is below what the file has already.
void Disk::limit_growth(sqlite::Connection& database) const {
  const std::uint64_t cap = config_.settings.cap_bytes;
  if (cap != 0) database.limit_pages(static_cast<std::int64_t>(cap / tables::page_bytes(database)));
}

bool Disk::recover(Direction direction, const CacheFault& fault, int faults_before) {
  constexpr int kAttempts = 4;
  if (fault.fault() == Fault::trouble && direction == Direction::read && connection_) {
    close();
    pause_opens(fault);
  }
  if (fault.fault() != Fault::moved && fault.fault() != Fault::damaged) return false;
  close();
  if (faults_before + 1 >= kAttempts) return false;
  if (fault.fault() == Fault::moved) return true;
  if (read_only()) return false;
  // The first time a fresh look may do: the file may have been emptied, or healed by another.
  if (faults_before > 0) replace_damaged();
  return true;
}

void Disk::replace_damaged() {
  const Descriptor directory = open_directory(config_.directory, true);
  const FileLock lock = hold_alone(directory);
  FileIdentity present;
  if (!inspect_file(directory, kDatabaseFile, &present) || present != identity_) return;
  set_aside(directory, kDatabaseFile);
  ++set_aside_;
}

void Disk::discard() {
  close();
  const Descriptor directory = open_directory(config_.directory, false);
  const FileLock lock = hold_alone(directory);
  set_aside(directory, kDatabaseFile);
  delete_set_aside(directory, kDatabaseFile);
}

FileLock Disk::hold_alone(const Descriptor& directory) const {
  auto lock = FileLock::acquire(directory, kMaintenanceByte, FileLock::Kind::exclusive,
                                kMaintenancePatience);
  if (!lock) throw CacheFault(Fault::busy, "the database is in use");
  return std::move(*lock);
}

std::string Disk::refusal() const {
  try {
    const Descriptor directory = find_directory(config_.directory);
    if (!directory) return {};
    inspect_file(directory, kDatabaseFile);
    for (const char* companion : kCompanions) inspect_file(directory, companion);
    return {};
  } catch (const CacheFault& fault) {
    return fault.what();
  }
}

FileLock Disk::hold_in_place() const {
  auto lock = FileLock::acquire(directory(), kMaintenanceByte, FileLock::Kind::shared,
                                std::chrono::milliseconds(0));
  if (!lock) throw CacheFault(Fault::busy, "the database is being replaced");
  return std::move(*lock);
}

void Disk::shrink() {
  try {
    const WriteSignalShield shield;
    sqlite::Connection& database = writable_connection();
    const FileLock guard = hold_in_place();
    database.execute("VACUUM");
    limit_growth(database);
  } catch (const CacheFault&) {
    // The pages stay in the file and are used again.
  }
}

void Disk::keep_below_cap() {
  if (!is_above_cap_ || Clock::now() < shrink_after_) return;
  shrink_after_ = Clock::now() + kShrinkInterval;
  shrink();
}

void Disk::note_size(sqlite::Connection& database) {
  is_above_cap_ = tables::file_bytes(database) > config_.settings.cap_bytes;
}

void Disk::pause_writes(std::string reason) {
  write_after_ = Clock::now() + kProbeInterval;
  write_error_ = std::move(reason);
}

bool Disk::writes_paused() const { return Clock::now() < write_after_; }

Descriptor Disk::directory() const {
  try {
    return open_directory(config_.directory, false);
  } catch (const CacheFault&) {
    return {};
  }
}

}  // namespace fuseplan
