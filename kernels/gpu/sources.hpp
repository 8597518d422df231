// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuseplan::gpu {

/// "#define FP_name value".
std::string define(std::string_view name, std::int64_t value);
/// FP_LANES: a bit for each tensor, whether its lanes are neighbours in memory.
std::string define_lanes(const std::vector<bool>& adjacent);

/// A kernel's source: macros, the dialect, declarations made of them, more headers of the dialect,
/// and the kernel's file. Files are those of kernels/gpu/dialect, which the build puts into the
/// library.
std::string assemble_source(std::string_view macros, std::string_view declarations,
                            std::string_view kernel_file,
                            const std::vector<std::string_view>& more_headers = {});

}  // namespace fuseplan::gpu
