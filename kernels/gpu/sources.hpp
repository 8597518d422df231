// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace fuseplan::gpu {

/// The text of a file in kernels/gpu/dialect, which the build puts into the library.
std::string_view dialect_file(std::string_view name);

/// A kernel's source: macros, the dialect, declarations made of them, more headers of the dialect,
/// and the kernel's file.
std::string assemble_source(std::string_view macros, std::string_view declarations,
                            std::string_view kernel_file,
                            std::initializer_list<std::string_view> more_headers = {});

}  // namespace fuseplan::gpu
