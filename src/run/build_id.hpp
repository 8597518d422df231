// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace fuseplan {

/// Identity of the machine code this library is: the linker's build-id of the file it was loaded
/// from, in hex. Two builds of one source tree with one compiler have the same. A file without one
/// (linked without --build-id, or stripped of it) has an identity that holds for this process only.
const std::string& build_id();

/// Whether other processes may use what was made with this code. Warns once if not.
bool is_build_id_shared();

/// The build-id of the file that `address` was loaded from; empty when it has none.
std::string build_id_at(const void* address);

}  // namespace fuseplan
