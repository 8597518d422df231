// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/commands.hpp"
#include "driver/shared_flags.hpp"

namespace fuseplan::driver {
namespace {

struct SupportFlags {
  MeasureOptions measure;
  std::string format = "text";
};

struct SupportRow {
  std::string solver, description, type, layout, operations;
  bool operator==(const SupportRow&) const = default;
};

const char* layout_name(fuseplanTensorLayout_t layout) {
  switch (layout) {
    case fuseplanTensorNCHW:
      return "nchw";
    case fuseplanTensorNHWC:
      return "nhwc";
    case fuseplanTensorNCDHW:
      return "ncdhw";
    case fuseplanTensorNDHWC:
      return "ndhwc";
    default:
      return "other";
  }
}

std::vector<SupportRow> support_rows(fuseplanHandle_t handle) {
  int count = 0;
  check(fuseplanGetSupportTable(handle, 0, &count, nullptr));
  std::vector<fuseplanSupportEntry_t> entries(static_cast<std::size_t>(count));
  if (count > 0) entries[0].structSize = sizeof entries[0];
  check(fuseplanGetSupportTable(handle, count, &count, entries.data()));
  std::vector<SupportRow> rows;
  for (const fuseplanSupportEntry_t& entry : entries)
    rows.push_back({entry.solver, entry.description, name_of(entry.dataType),
                    layout_name(entry.layout), entry.operations});
  return rows;
}

// Rows that differ in one column only become one.
std::vector<SupportRow> merge(const std::vector<SupportRow>& rows,
                              std::string SupportRow::*column) {
  std::vector<SupportRow> merged;
  for (const SupportRow& row : rows) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](SupportRow other) {
      other.*column = row.*column;
      return other == row;
    });
    if (same == merged.end()) {
      merged.push_back(row);
    } else {
      *same.*column += " " + row.*column;
    }
  }
  return merged;
}

void print_lines(const std::vector<SupportRow>& rows, bool markdown) {
  const char* line = markdown ? "| `{}` | {} | {} | {} |\n" : "{:<14} {:<12} {:<21} {}\n";
  std::string text = markdown ? "| solver | type | layout | operations |\n|---|---|---|---|\n" : "";
  for (const SupportRow& row : rows)
    text += fmt::format(fmt::runtime(line), row.solver, row.type, row.layout, row.operations);
  std::fputs(text.c_str(), stdout);
}

void print_json(const std::vector<SupportRow>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SupportRow& row : rows)
    list.push_back({{"solver", row.solver},
                    {"description", row.description},
                    {"dtype", row.type},
                    {"layout", row.layout},
                    {"operations", row.operations}});
  std::puts(list.dump(2).c_str());
}

}  // namespace

void add_support(CLI::App& app) {
  auto flags = std::make_shared<SupportFlags>();
  CLI::App* command =
      app.add_subcommand("support", "What each solver accepts, found by asking the solvers");
  command->add_option("--format", flags->format)
      ->check(CLI::IsMember({"text", "md", "json"}))
      ->capture_default_str();
  add_handle_flags(*command, flags->measure);
  command->callback([flags] {
    const Handle handle = make_handle(flags->measure);
    const std::vector<SupportRow> rows = support_rows(handle.get());
    if (flags->format == "json") {
      print_json(rows);
    } else {
      print_lines(merge(merge(rows, &SupportRow::type), &SupportRow::layout),
                  flags->format == "md");
    }
  });
}

}  // namespace fuseplan::driver
