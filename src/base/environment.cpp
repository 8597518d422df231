// SPDX-License-Identifier: MIT
#include "base/environment.hpp"

#include <cstdlib>

namespace fuseplan {

std::optional<std::string> environment(const char* name) {
  const char* value = secure_getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace fuseplan
