// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/row.hpp"
#include "cache/sqlite.hpp"

// The statements of the kernel database. Each function is part of the caller's transaction, or is
// one of its own.
namespace fuseplan::tables {

/// One row as `list` shows it; not verified.
struct Entry {
  std::int64_t id = 0;
  Digest key{};
  std::string key_text;
  std::string meta;
  std::int64_t size = 0;     ///< bytes of the binary
  std::int64_t stored = 0;   ///< bytes it takes in the database, compressed
  std::int64_t seq = 0;      ///< higher was used later
  std::int64_t created = 0;  ///< seconds since 1970
};

std::optional<StoredRow> find_kernel(sqlite::Connection& database, const Digest& key);
/// False when the key has a row already: the first one wins.
bool insert_kernel(sqlite::Connection& database, const Digest& key, const StoredRow& row);
bool erase_kernel(sqlite::Connection& database, const Digest& key);
/// Marks rows as used, in this order, later than everything before.
void touch_kernels(sqlite::Connection& database, std::span<const Digest> keys);
/// Deletes rows until `room` more bytes fit into nine tenths of `cap`; how many it took. The oldest
/// tuning results go first while they take more than a quarter of the cap, then the kernels that
/// were unused for longest, then the rest.
std::uint64_t make_room(sqlite::Connection& database, std::uint64_t room, std::uint64_t cap);

struct TuningRow {
  std::int64_t id = 0;
  Digest key{};
  std::string key_text, value;
  std::vector<std::byte> digest;
};
std::optional<TuningRow> find_tuning(sqlite::Connection& database, const Digest& key);
void replace_tuning(sqlite::Connection& database, const CacheKey& key, std::string_view value);
void erase_tuning(sqlite::Connection& database, const Digest& key);

std::vector<Entry> list_kernels(sqlite::Connection& database);
/// By row number, so that a row with a damaged key can be looked at and deleted too.
std::optional<StoredRow> read_kernel(sqlite::Connection& database, std::int64_t id);
void erase_kernel(sqlite::Connection& database, std::int64_t id);
std::vector<TuningRow> list_tuning(sqlite::Connection& database);
void erase_tuning(sqlite::Connection& database, std::int64_t id);
void clear(sqlite::Connection& database);
/// What SQLite finds wrong with the file; nothing when it is whole.
std::vector<std::string> check_structure(sqlite::Connection& database);
/// The part of it that matters to stored rows, in a fraction of the time: throws (damaged).
void require_sound_pages(sqlite::Connection& database);
std::uint64_t count_kernels(sqlite::Connection& database);
std::uint64_t file_bytes(sqlite::Connection& database);
std::uint64_t page_bytes(sqlite::Connection& database);

}  // namespace fuseplan::tables
