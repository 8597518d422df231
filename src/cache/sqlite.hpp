// SPDX-License-Identifier: MIT
#pragma once

#include <boost/container/flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cache/fault.hpp"

struct sqlite3;
struct sqlite3_stmt;

// The only part of fuseplan that includes <sqlite3.h>. Every SQLite error leaves as a CacheFault.
namespace fuseplan::sqlite {

/// A cached prepared statement in use. Destruction resets it: an open one would block writers.
class Query {
 public:
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// Binds the next parameter; the memory must stay as it is until the query is gone.
  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);
  Query& bind(std::span<const std::byte> blob);

  bool step();  ///< true: a row is there
  void run();   ///< steps to the end

  // Columns of the current row, valid until the next step.
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;

 private:
  friend class Connection;
  explicit Query(sqlite3_stmt* statement) : statement_(statement) {}
  void check_bound(int code);

  sqlite3_stmt* statement_;
  int bound_ = 0;
};

enum class Access { read_write, read_only };

/// One connection, used by one thread at a time. Hardened before it reads a row; see notes at
/// configure() in sqlite.cpp.
class Connection {
 public:
  /// The file must exist. A write-ahead-log file is refused as damaged before its shared memory
  /// file, whose truncation would kill the process, is mapped.
  Connection(const std::string& path, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sets the rollback journal with truncation and what else a writer needs, before its first
  /// transaction; false when that has been done.
  bool prepare_writes(bool synchronous);

  /// `sql` must be a string literal: its address is what the statement is cached by.
  Query query(const char* sql);
  std::int64_t integer(const char* sql);
  void execute(const char* script);
  /// Limits growth. The one statement that is put together from text: a pragma takes no parameter.
  void limit_pages(std::int64_t pages);

  bool read_only() const;
  bool moved() const;  ///< the path no longer names the file this connection has open
  std::int64_t changes() const;
  bool in_transaction() const;

  /// After fork: forget the connection without touching what it shares with the parent.
  void abandon() { database_ = nullptr; }

 private:
  void configure();
  void refuse_write_ahead_log();
  void close();
  [[noreturn]] void fail_last(const char* what) const;

  sqlite3* database_ = nullptr;
  bool writes_prepared_ = false;
  boost::container::flat_map<const char*, sqlite3_stmt*> statements_;
};

/// BEGIN IMMEDIATE, so that the lock is taken at the start, where waiting for it is possible.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
};

}  // namespace fuseplan::sqlite
