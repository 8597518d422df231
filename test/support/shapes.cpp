// SPDX-License-Identifier: MIT
#include "support/shapes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string_view>

namespace fuseplan::test {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = line.find(',', begin);
    fields.push_back(line.substr(begin, end - begin));
  }
  return fields;
}

/// One line of a list, by column name.
class Row {
 public:
  Row(std::string place, const std::vector<std::string>& columns,
      const std::vector<std::string>& fields)
      : place_(std::move(place)) {
    if (columns.size() != fields.size())
      throw std::runtime_error(
          fmt::format("{}: {} fields, expected {}", place_, fields.size(), columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) fields_[columns[i]] = fields[i];
  }

  const std::string& text(const std::string& column) const {
    const auto found = fields_.find(column);
    if (found == fields_.end())
      throw std::runtime_error(fmt::format("{}: no column {}", place_, column));
    return found->second;
  }
  template <typename T>
  T number(const std::string& column) const {
    const std::string& field = text(column);
    T value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size())
      throw std::runtime_error(fmt::format("{}: {} is '{}', not a number", place_, column, field));
    return value;
  }
  std::int64_t integer(const std::string& column) const { return number<std::int64_t>(column); }
  bool has(const std::string& column) const { return fields_.count(column) != 0; }

 private:
  std::string place_;
  std::map<std::string, std::string> fields_;
};

std::vector<Row> read_rows(const std::string& list) {
  const std::string path = problems_path(list);
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    throw std::runtime_error(
        file.is_open() && !file.bad()
            ? fmt::format("{} is empty, expected columns' names and rows", path)
            : fmt::format("cannot read {}", path));
  const std::vector<std::string> columns = split(line);
  std::vector<Row> rows;
  for (int number = 2; std::getline(file, line); ++number)
    if (!line.empty()) rows.emplace_back(fmt::format("{}:{}", list, number), columns, split(line));
  if (rows.empty()) throw std::runtime_error(fmt::format("{} lists no problem", path));
  return rows;
}

double speedup(const Row& row) {
  return row.has("miopen_speedup") ? row.number<double>("miopen_speedup") : 0;
}

ConvProblem conv_problem(const Row& row) {
  return {.name = row.text("name"),
          .n = row.integer("n"),
          .c = row.integer("c"),
          .h = row.integer("h"),
          .w = row.integer("w"),
          .k = row.integer("k"),
          .r = row.integer("r"),
          .s = row.integer("s"),
          .stride_h = row.integer("stride_h"),
          .stride_w = row.integer("stride_w"),
          .pad_h = row.integer("pad_h"),
          .pad_w = row.integer("pad_w"),
          .dil_h = row.integer("dil_h"),
          .dil_w = row.integer("dil_w"),
          .groups = row.integer("groups"),
          .count = row.has("count") ? row.integer("count") : 1,
          .published_speedup = speedup(row)};
}

NormProblem norm_problem(const Row& row) {
  return {.name = row.text("name"),
          .n = row.integer("n"),
          .c = row.integer("c"),
          .h = row.integer("h"),
          .w = row.integer("w"),
          .published_speedup = speedup(row)};
}

}  // namespace

std::string problems_directory() {
  if (std::filesystem::exists(FUSEPLAN_PROBLEMS_DIR)) return FUSEPLAN_PROBLEMS_DIR;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / FUSEPLAN_PROBLEMS_INSTALLED).lexically_normal();
}

std::string problems_path(const std::string& list) {
  return std::filesystem::exists(list) ? list : problems_directory() + "/" + list;
}

std::vector<ConvProblem> read_conv_problems(const std::string& list) {
  std::vector<ConvProblem> problems;
  for (const Row& row : read_rows(list)) problems.push_back(conv_problem(row));
  return problems;
}

std::vector<NormProblem> read_norm_problems(const std::string& list) {
  std::vector<NormProblem> problems;
  for (const Row& row : read_rows(list)) problems.push_back(norm_problem(row));
  return problems;
}

}  // namespace fuseplan::test
