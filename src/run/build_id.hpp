// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace fuseplan {

/// Identity of the machine code this library is: the linker's build-id of the file it was loaded
/// from, in hex. Two builds of one source tree with one compiler have the same.
const std::string& build_id();

}  // namespace fuseplan
