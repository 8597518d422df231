// SPDX-License-Identifier: MIT
#include "cache/tables.hpp"

#include <algorithm>
#include <ctime>

namespace fuseplan::tables {
namespace {

std::span<const std::byte> bytes_of(const Digest& digest) {
  return std::as_bytes(std::span(digest));
}

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

Digest digest_from(std::span<const std::byte> bytes) {
  Digest digest{};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.data()),
              std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::int64_t now() { return static_cast<std::int64_t>(std::time(nullptr)); }

// No program gets so far; a damaged row may, and the order of use begins anew then.
std::int64_t next_seq(sqlite::Connection& database) {
  constexpr std::int64_t kLast = std::int64_t{1} << 62;
  const std::int64_t latest = database.integer("SELECT max(seq) FROM usage");
  if (latest < kLast) return latest + 1;
  database.query("UPDATE usage SET seq = 0").run();
  return 1;
}

std::uint64_t used_bytes(sqlite::Connection& database) {
  const auto pages =
      database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count");
  return static_cast<std::uint64_t>(pages) * page_bytes(database);
}

// Kernels without a place in the order of use, which only damage leaves behind, are the oldest.
void complete_usage(sqlite::Connection& database) {
  if (database.integer("SELECT (SELECT count(*) FROM kernel) = (SELECT count(*) FROM usage)") == 1)
    return;
  database.query("DELETE FROM usage WHERE id NOT IN (SELECT id FROM kernel)").run();
  database
      .query(
          "INSERT INTO usage (id, seq, size) SELECT id, 0, length(blob) FROM kernel "
          "WHERE id NOT IN (SELECT id FROM usage)")
      .run();
}

bool evict_kernel(sqlite::Connection& database) {
  std::int64_t oldest = 0;
  {
    auto query = database.query("SELECT id FROM usage ORDER BY seq LIMIT 1");
    if (!query.step()) return false;
    oldest = query.integer(0);
  }
  erase_kernel(database, oldest);
  return true;
}

// With what a row takes besides its texts.
std::uint64_t tuning_bytes(sqlite::Connection& database) {
  return static_cast<std::uint64_t>(
      database.integer("SELECT sum(length(key_text) + length(value) + 150) FROM tuning"));
}

// What it freed; 0 when there was nothing to delete. Each store of a result gives it the highest
// id.
std::uint64_t evict_tuning(sqlite::Connection& database) {
  std::int64_t oldest = 0, bytes = 0;
  {
    auto query = database.query(
        "SELECT id, length(key_text) + length(value) + 150 FROM tuning ORDER BY id LIMIT 1");
    if (!query.step()) return 0;
    oldest = query.integer(0), bytes = query.integer(1);
  }
  erase_tuning(database, oldest);
  return static_cast<std::uint64_t>(bytes);
}

std::optional<StoredRow> stored_row(sqlite::Query& query) {
  if (!query.step()) return std::nullopt;
  return StoredRow{std::string(query.text(0)), std::string(query.text(1)), query.integer(2),
                   query.integer(3),           copy(query.blob(4)),        copy(query.blob(5))};
}

TuningRow tuning_row(const sqlite::Query& query) {
  return {query.integer(0), digest_from(query.blob(1)), std::string(query.text(2)),
          std::string(query.text(3)), copy(query.blob(4))};
}

}  // namespace

std::optional<StoredRow> find_kernel(sqlite::Connection& database, const Digest& key) {
  return stored_row(
      database.query("SELECT key_text, meta, coding, size, blob, digest FROM kernel WHERE key = ?")
          .bind(bytes_of(key)));
}

std::optional<StoredRow> read_kernel(sqlite::Connection& database, std::int64_t id) {
  return stored_row(
      database.query("SELECT key_text, meta, coding, size, blob, digest FROM kernel WHERE id = ?")
          .bind(id));
}

bool insert_kernel(sqlite::Connection& database, const Digest& key, const StoredRow& row) {
  database
      .query(
          "INSERT OR IGNORE INTO kernel (key, key_text, meta, coding, size, blob, digest, "
          "created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(bytes_of(key))
      .bind(row.key_text)
      .bind(row.meta)
      .bind(row.coding)
      .bind(row.size)
      .bind(std::span(row.blob))
      .bind(std::span(row.digest))
      .bind(now())
      .run();
  if (database.changes() == 0) return false;
  database.query("INSERT OR REPLACE INTO usage (id, seq, size) VALUES (last_insert_rowid(), ?, ?)")
      .bind(next_seq(database))
      .bind(static_cast<std::int64_t>(row.bytes()))
      .run();
  return true;
}

bool erase_kernel(sqlite::Connection& database, const Digest& key) {
  database.query("DELETE FROM usage WHERE id = (SELECT id FROM kernel WHERE key = ?)")
      .bind(bytes_of(key))
      .run();
  database.query("DELETE FROM kernel WHERE key = ?").bind(bytes_of(key)).run();
  return database.changes() > 0;
}

void erase_kernel(sqlite::Connection& database, std::int64_t id) {
  database.query("DELETE FROM kernel WHERE id = ?").bind(id).run();
  database.query("DELETE FROM usage WHERE id = ?").bind(id).run();
}

void touch_kernels(sqlite::Connection& database, std::span<const Digest> keys) {
  if (keys.empty()) return;
  std::int64_t seq = next_seq(database);
  for (const Digest& key : keys)
    database.query("UPDATE usage SET seq = ? WHERE id = (SELECT id FROM kernel WHERE key = ?)")
        .bind(seq++)
        .bind(bytes_of(key))
        .run();
}

std::uint64_t make_room(sqlite::Connection& database, std::uint64_t room, std::uint64_t cap) {
  const auto is_short = [&] { return used_bytes(database) + room > cap / 10 * 9; };
  if (!is_short()) return 0;
  complete_usage(database);
  std::uint64_t evicted = 0;
  for (std::uint64_t tuning = tuning_bytes(database); is_short(); ++evicted) {
    std::uint64_t freed = tuning > cap / 4 ? evict_tuning(database) : 0;
    if (freed == 0 && !evict_kernel(database)) {
      freed = evict_tuning(database);
      if (freed == 0) break;
    }
    tuning -= std::min(tuning, freed);
  }
  return evicted;
}

std::optional<TuningRow> find_tuning(sqlite::Connection& database, const Digest& key) {
  auto query = database.query("SELECT id, key, key_text, value, digest FROM tuning WHERE key = ?");
  query.bind(bytes_of(key));
  if (!query.step()) return std::nullopt;
  return tuning_row(query);
}

void replace_tuning(sqlite::Connection& database, const CacheKey& key, std::string_view value) {
  const Digest digest = tuning_digest(key, value);
  database
      .query(
          "INSERT OR REPLACE INTO tuning (key, key_text, value, digest, created) "
          "VALUES (?, ?, ?, ?, ?)")
      .bind(bytes_of(key.digest))
      .bind(key.text)
      .bind(value)
      .bind(bytes_of(digest))
      .bind(now())
      .run();
}

void erase_tuning(sqlite::Connection& database, const Digest& key) {
  database.query("DELETE FROM tuning WHERE key = ?").bind(bytes_of(key)).run();
}

std::vector<Entry> list_kernels(sqlite::Connection& database) {
  std::vector<Entry> entries;
  auto query = database.query(
      "SELECT kernel.id, key, key_text, meta, kernel.size, length(blob), coalesce(seq, 0), created "
      "FROM kernel LEFT JOIN usage ON usage.id = kernel.id ORDER BY seq DESC");
  while (query.step())
    entries.push_back({query.integer(0), digest_from(query.blob(1)), std::string(query.text(2)),
                       std::string(query.text(3)), query.integer(4), query.integer(5),
                       query.integer(6), query.integer(7)});
  return entries;
}

std::vector<TuningRow> list_tuning(sqlite::Connection& database) {
  std::vector<TuningRow> rows;
  auto query = database.query("SELECT id, key, key_text, value, digest FROM tuning");
  while (query.step()) rows.push_back(tuning_row(query));
  return rows;
}

void erase_tuning(sqlite::Connection& database, std::int64_t id) {
  database.query("DELETE FROM tuning WHERE id = ?").bind(id).run();
}

void clear(sqlite::Connection& database) {
  database.query("DELETE FROM kernel").run();
  database.query("DELETE FROM usage").run();
  database.query("DELETE FROM tuning").run();
}

std::vector<std::string> check_structure(sqlite::Connection& database) {
  std::vector<std::string> found;
  auto query = database.query("PRAGMA integrity_check(20)");
  while (query.step())
    if (query.text(0) != "ok") found.emplace_back(query.text(0));
  return found;
}

void require_sound_pages(sqlite::Connection& database) {
  auto query = database.query("PRAGMA quick_check(1)");
  if (query.step() && query.text(0) != "ok")
    throw CacheFault(Fault::damaged, std::string(query.text(0)));
}

std::uint64_t count_kernels(sqlite::Connection& database) {
  return static_cast<std::uint64_t>(database.integer("SELECT count(*) FROM kernel"));
}

std::uint64_t file_bytes(sqlite::Connection& database) {
  return static_cast<std::uint64_t>(database.integer("PRAGMA page_count")) * page_bytes(database);
}

std::uint64_t page_bytes(sqlite::Connection& database) {
  return static_cast<std::uint64_t>(database.integer("PRAGMA page_size"));
}

}  // namespace fuseplan::tables
