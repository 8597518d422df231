// SPDX-License-Identifier: MIT
#include "kernels/gpu/sources.hpp"

#include <fmt/format.h>

#include "base/status.hpp"
#include "kernels/gpu/dialect_files.hpp"

namespace fuseplan::gpu {
namespace {

std::string_view dialect_file(std::string_view name) {
  for (const DialectFile& file : kDialectFiles)
    if (file.name == name) return {reinterpret_cast<const char*>(file.bytes), file.size};
  fail(Status::InternalError, "no file {} in kernels/gpu/dialect", name);
}

}  // namespace

std::string define(std::string_view name, std::int64_t value) {
  return fmt::format("#define FP_{} {}\n", name, value);
}

std::string define_lanes(const std::vector<bool>& adjacent) {
  std::int64_t bits = 0;
  for (std::size_t t = 0; t < adjacent.size(); ++t)
    if (adjacent[t]) bits |= std::int64_t{1} << t;
  return define("LANES", bits);
}

std::string assemble_source(std::string_view macros, std::string_view declarations,
                            std::string_view kernel_file,
                            const std::vector<std::string_view>& more_headers) {
  std::string source(macros);
  const auto append = [&](std::string_view name, std::string_view text) {
    source += fmt::format("#line 1 \"{}\"\n{}", name, text);
  };
  append("fp_dev.h", dialect_file("fp_dev.h"));
  append("fp_math.h", dialect_file("fp_math.h"));
  append("chain", declarations);
  for (std::string_view header : more_headers) append(header, dialect_file(header));
  append(kernel_file, dialect_file(kernel_file));
  return source;
}

}  // namespace fuseplan::gpu
