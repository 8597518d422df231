// SPDX-License-Identifier: MIT
#include "cache/schema_state.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "cache/schema.hpp"

namespace fuseplan::schema {
namespace {

constexpr std::string_view kText = kSchemaSql;
constexpr std::string_view kCreate = "\nCREATE ";

/// The value schema.sql gives a pragma.
std::int64_t pragma(std::string_view name) {
  const std::string statement = "PRAGMA " + std::string(name) + " = ";
  const std::string_view value = kText.substr(kText.find(statement) + statement.size());
  std::int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::size_t created_objects() {
  std::size_t count = 0;
  for (auto at = kText.find(kCreate); at != kText.npos; at = kText.find(kCreate, at + 1)) ++count;
  return count;
}

/// SQLite keeps the text of each CREATE as it was written, up to its semicolon. Indexes that a
/// UNIQUE implies have none, and follow from their table's text.
bool is_ours(const sqlite::Query& object) {
  const std::string_view sql = object.text(2);
  if (sql.empty()) return object.text(0) == "index";
  return kText.find("\n" + std::string(sql) + ";") != kText.npos;
}

struct Objects {
  std::size_t created = 0, foreign = 0;
};

Objects count_objects(sqlite::Connection& database) {
  Objects objects;
  auto query = database.query("SELECT type, name, sql FROM sqlite_master");
  while (query.step()) {
    objects.created += !query.text(2).empty();
    objects.foreign += !is_ours(query);
  }
  return objects;
}

}  // namespace

// Compared with the text itself: to run it on a database in memory and compare with that took a
// third of the time in which a process gets its first kernel out of the cache.
State inspect(sqlite::Connection& database) {
  const std::int64_t application = database.integer("PRAGMA application_id");
  const std::int64_t version = database.integer("PRAGMA user_version");
  const Objects objects = count_objects(database);
  const std::int64_t ours = pragma("application_id"), current = pragma("user_version");
  if (application == 0 && version == 0 && objects.created == 0 && objects.foreign == 0)
    return State::empty;
  if (application != ours) throw CacheFault(Fault::damaged, "the database is not a kernel cache");
  // The version is in the file's name too, so that another one here is not a newer fuseplan's.
  if (version != current || objects.foreign != 0 || objects.created != created_objects())
    throw CacheFault(Fault::damaged, "the database has another schema than this version's");
  return State::current;
}

void create(sqlite::Connection& database) { database.execute(kSchemaSql); }

}  // namespace fuseplan::schema
