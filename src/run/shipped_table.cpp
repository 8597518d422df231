// SPDX-License-Identifier: MIT
#include "run/shipped_table.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"
#include "base/text.hpp"
#include "run/shipped_tables.hpp"

namespace fuseplan {
namespace {

// Tables are searched as the text they are: that takes microseconds, and no start of a process
// waits for them to be read.
std::optional<std::string_view> find_line(std::string_view table, std::string_view problem,
                                          std::string_view mark) {
  const std::string start = "\n" + std::string(problem) + std::string(mark) + " ";
  const std::size_t at = table.find(start);
  if (at == table.npos) return std::nullopt;
  const std::string_view rest = table.substr(at + start.size());
  return rest.substr(0, rest.find_first_of(" \n"));
}

}  // namespace

std::string_view head_of(std::string_view problem) {
  const std::size_t first = problem.find(';');
  if (first == problem.npos) return problem;
  return problem.substr(0, std::min(problem.find(';', first + 1), problem.find("->")));
}

std::optional<std::string_view> find_shipped(std::string_view table, std::string_view problem) {
  if (auto exact = find_line(table, problem, "")) return exact;
  return find_line(table, head_of(problem), "*");
}

std::vector<ShippedRow> parse_table(std::string_view table) {
  std::vector<ShippedRow> rows;
  for (const std::string_view line : split_list(table, '\n')) {
    const std::string_view code = line.substr(0, line.find('#'));
    const auto pieces = split_list(code.substr(0, code.find_last_not_of(' ') + 1), ' ');
    if (pieces.size() == 1 && pieces[0].empty()) continue;
    require(pieces.size() == 2 && pieces[1].find(':') != pieces[1].npos, Status::InvalidValue,
            "\"{}\": expected a problem, a space and solver:config, then nothing or a # comment",
            line);
    rows.push_back({pieces[0], pieces[1]});
  }
  return rows;
}

std::string_view shipped_table(std::string_view family) {
  for (const ShippedText& table : kShippedTexts)
    if (table.family == family) return table.text;
  return {};
}

std::vector<std::string_view> shipped_families() {
  std::vector<std::string_view> names;
  for (const ShippedText& table : kShippedTexts) names.push_back(table.family);
  return names;
}

}  // namespace fuseplan
