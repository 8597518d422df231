// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>

namespace fuseplan::driver {

/// Lines of db/tuning: "<problem> <solver>:<config>  # remark". A problem is the whole text of a
/// plan, or its input and first op followed by *, for any ops behind them.
class WinnerTable {
 public:
  /// Throws std::runtime_error naming file and line.
  static WinnerTable read(const std::string& path);

  /// The candidate for a plan's text; a line for the whole text counts before one for its head.
  std::optional<std::string> find(const std::string& problem) const;
  /// Lines by problem.
  const std::map<std::string, std::string>& rows() const { return rows_; }

 private:
  std::map<std::string, std::string> rows_;
};

/// Input and first op of a plan's text, and a *.
std::string pattern_of(const std::string& problem);

}  // namespace fuseplan::driver
