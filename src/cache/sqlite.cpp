// SPDX-License-Identifier: MIT
#include "cache/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <exception>

#include "cache/row.hpp"

namespace fuseplan::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 50;  // longer lets SQLite's unfair back-off starve a caller

struct FaultOfCode {
  int code;
  Fault fault;
};

// Codes not listed mean that the file does not hold what we wrote: damaged.
constexpr FaultOfCode kFaults[] = {
    {SQLITE_BUSY, Fault::busy},        {SQLITE_LOCKED, Fault::busy},
    {SQLITE_PROTOCOL, Fault::busy},    {SQLITE_FULL, Fault::full},
    {SQLITE_IOERR, Fault::trouble},    {SQLITE_READONLY, Fault::trouble},
    {SQLITE_CANTOPEN, Fault::trouble}, {SQLITE_PERM, Fault::trouble},
    {SQLITE_AUTH, Fault::trouble},     {SQLITE_NOLFS, Fault::trouble},
    {SQLITE_MISUSE, Fault::trouble},   {SQLITE_NOMEM, Fault::memory},
    {SQLITE_TOOBIG, Fault::memory},    {SQLITE_INTERRUPT, Fault::memory},
};

Fault fault_of(int extended) {
  if (extended == SQLITE_READONLY_DBMOVED) return Fault::moved;
  if (extended == SQLITE_IOERR_NOMEM) return Fault::memory;
  for (const FaultOfCode& row : kFaults)
    if (row.code == (extended & 0xff)) return row.fault;
  return Fault::damaged;
}

[[noreturn]] void fail_code(int extended, const char* what, const char* detail) {
  throw CacheFault(fault_of(extended), fmt::format("{}: {} (SQLite {})", what, detail, extended));
}

}  // namespace

Query::~Query() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::check_bound(int code) {
  if (code != SQLITE_OK) fail_code(code, "bind", sqlite3_errmsg(sqlite3_db_handle(statement_)));
}

Query& Query::bind(std::int64_t value) {
  check_bound(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Query& Query::bind(std::string_view text) {
  check_bound(sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC,
                                  SQLITE_UTF8));
  return *this;
}

Query& Query::bind(std::span<const std::byte> blob) {
  // A null pointer would bind NULL; an empty blob is not NULL.
  const void* data = blob.empty() ? static_cast<const void*>("") : blob.data();
  check_bound(sqlite3_bind_blob64(statement_, ++bound_, data, blob.size(), SQLITE_STATIC));
  return *this;
}

bool Query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* database = sqlite3_db_handle(statement_);
  fail_code(sqlite3_extended_errcode(database), sqlite3_sql(statement_), sqlite3_errmsg(database));
}

void Query::run() {
  while (step()) {
  }
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::byte> Query::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Connection::Connection(const std::string& path, Access access) {
  if (sqlite3_threadsafe() == 0)
    throw CacheFault(Fault::trouble, "the SQLite library was built without thread safety");
  // No SQLITE_OPEN_CREATE: the caller has made the file private already, and one that vanished in
  // between must not come back with the umask's permissions.
  const int flags = (access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int code = sqlite3_open_v2(path.c_str(), &database_, flags, nullptr);
  try {
    if (code != SQLITE_OK)
      fail_code(database_ ? sqlite3_extended_errcode(database_) : code, "open",
                sqlite3_errstr(code));
    configure();
  } catch (...) {
    close();
    throw;
  }
}

Connection::~Connection() { close(); }

void Connection::close() {
  if (database_ == nullptr) return;
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  statements_.clear();
  sqlite3_close_v2(database_);
  database_ = nullptr;
}

void Connection::configure() {
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_busy_timeout(database_, kBusyTimeoutMs);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, static_cast<int>(2 * kMaxBlobBytes));
  // The file is data that somebody else may have written; none of it may run.
  constexpr struct {
    int option, value;
  } kHardening[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
  for (const auto& [option, value] : kHardening)
    if (sqlite3_db_config(database_, option, value, nullptr) != SQLITE_OK)
      fail_last("sqlite3_db_config");
  execute("PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;");
  refuse_write_ahead_log();
}

bool Connection::prepare_writes(bool synchronous) {
  if (writes_prepared_) return false;
  {
    Query mode = query("PRAGMA journal_mode=TRUNCATE");
    if (!mode.step() || mode.text(0) != "truncate")
      throw CacheFault(Fault::damaged, "the database has a foreign journal mode");
  }
  // Losing power may damage the file, which is noticed and healed; waiting for the disk at every
  // store would cost more than the kernels it saves.
  execute(synchronous ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=OFF");
  // Zeroing evicted blobs (a build default of Debian) would send each through the journal.
  execute("PRAGMA secure_delete=OFF; PRAGMA auto_vacuum=NONE;");
  return writes_prepared_ = true;
}

// Read through SQLite's own file handle: opening and closing the file ourselves would drop the
// POSIX locks of every connection in this process.
void Connection::refuse_write_ahead_log() {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr) return;
  std::array<std::uint8_t, 100> header{};
  const int code = file->pMethods->xRead(file, header.data(), header.size(), 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
    fail_code(code, "read header", sqlite3_errstr(code));
  if (header[18] > 1 || header[19] > 1)  // file format write and read versions; 2 is WAL
    throw CacheFault(Fault::damaged, "the database is in write-ahead-log mode");
}

Query Connection::query(const char* sql) {
  const auto cached = statements_.find(sql);
  if (cached != statements_.end()) return Query(cached->second);
  // First the room: a statement that nobody could finalise would keep the connection alive for
  // ever.
  statements_.reserve(statements_.size() + 1);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK)
    fail_last(sql);
  statements_.emplace(sql, statement);
  return Query(statement);
}

std::int64_t Connection::integer(const char* sql) {
  Query result = query(sql);
  return result.step() ? result.integer(0) : 0;
}

void Connection::execute(const char* script) {
  if (sqlite3_exec(database_, script, nullptr, nullptr, nullptr) != SQLITE_OK) fail_last(script);
}

void Connection::limit_pages(std::int64_t pages) {
  execute(fmt::format("PRAGMA max_page_count={}", pages).c_str());
}

bool Connection::read_only() const { return sqlite3_db_readonly(database_, "main") == 1; }

bool Connection::moved() const {
  int moved = 0;
  const int code = sqlite3_file_control(database_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

std::int64_t Connection::changes() const { return sqlite3_changes(database_); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }

void Connection::fail_last(const char* what) const {
  fail_code(sqlite3_extended_errcode(database_), what, sqlite3_errmsg(database_));
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
  connection_.query("BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  if (!connection_.in_transaction()) return;
  try {
    connection_.query("ROLLBACK").run();
  } catch (const std::exception&) {
    // A fault, or no memory. The next BEGIN fails, and that is handled where there is someone to.
  }
}

void Transaction::commit() { connection_.query("COMMIT").run(); }

}  // namespace fuseplan::sqlite
