// SPDX-License-Identifier: MIT
#pragma once

#include "cache/sqlite.hpp"

// What a kernel database looks like: db/schema.sql, which the library embeds.
namespace fuseplan::schema {

/// Tells a new, empty file from one of ours, and throws (damaged) for any other.
enum class State { empty, current };
State inspect(sqlite::Connection& database);
void create(sqlite::Connection& database);

}  // namespace fuseplan::schema
