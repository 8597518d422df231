// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

namespace fuseplan {

/// An environment variable, or nothing if it is unset or the process runs with raised privileges
/// (set-uid, file capabilities), where the environment belongs to somebody else.
std::optional<std::string> environment(const char* name);

}  // namespace fuseplan
