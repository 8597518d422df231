// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fuseplan::cuda {

/// Who compiled a kernel. Versions alone do not tell patch releases apart.
struct CompilerId {
  int major = 0, minor = 0;
  std::string build;  ///< "CL-36037853", as PTX of that compiler says; empty: it does not
  bool operator==(const CompilerId&) const = default;
};
std::string to_text(const CompilerId& id);  ///< "12.9 CL-36037853"

/// Of an earlier version than `now`, or of another build of the same. Unknown ones are older. Code
/// of a later version is not: two programs that share a cache would else compile in turns for ever.
bool is_older(const CompilerId& id, const CompilerId& now);

/// A note behind an image, where the driver, which finds the end of cubins and PTX by itself, does
/// not look. compiler_of() gives an empty id for an image without one.
void append_compiler(std::vector<std::byte>& image, const CompilerId& id);
CompilerId compiler_of(std::span<const std::byte> image);

}  // namespace fuseplan::cuda
