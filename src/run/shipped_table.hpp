// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace fuseplan {

/// One line of db/tuning: which problems it is for, and the candidate that was fastest.
struct ShippedRow {
  std::string_view pattern;    ///< a problem as text, or its input and first op followed by *
  std::string_view candidate;  ///< "solver:config"
};

/// The part of a problem's text that decides its geometry: input and first op.
std::string_view head_of(std::string_view problem);

/// The candidate that `table` names for a problem; the whole text counts before its head.
std::optional<std::string_view> find_shipped(std::string_view table, std::string_view problem);

/// Rows of a table, in its order. Throws Error(InvalidValue) quoting a line it cannot read.
std::vector<ShippedRow> parse_table(std::string_view table);

/// The table of a line of processors (cpu::family_of); empty where there is none.
std::string_view shipped_table(std::string_view family);
/// Names that have a table.
std::vector<std::string_view> shipped_families();

}  // namespace fuseplan
