// SPDX-License-Identifier: MIT
#include "driver/winner_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fuseplan::driver {

std::string pattern_of(const std::string& problem) {
  const std::size_t first = problem.find(';');
  const std::size_t second = first == problem.npos ? first : problem.find(';', first + 1);
  return problem.substr(0, std::min(second, problem.find("->"))) + "*";
}

WinnerTable WinnerTable::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  WinnerTable table;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string problem, candidate, more;
    if (!(words >> problem)) continue;
    if (!(words >> candidate) || words >> more || candidate.find(':') == candidate.npos)
      throw std::runtime_error(fmt::format(
          "{}:{}: expected a problem and solver:config, then # and remarks", path, number));
    table.rows_[problem] = candidate;
  }
  return table;
}

std::optional<std::string> WinnerTable::find(const std::string& problem) const {
  auto row = rows_.find(problem);
  if (row == rows_.end()) row = rows_.find(pattern_of(problem));
  if (row == rows_.end()) return std::nullopt;
  return row->second;
}

}  // namespace fuseplan::driver
