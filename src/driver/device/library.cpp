// SPDX-License-Identifier: MIT
#include "driver/device/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <stdexcept>

namespace fuseplan::driver {

Library::Library(const char* override_variable, const std::vector<std::string>& names) {
  const char* chosen = std::getenv(override_variable);
  std::string tried;
  for (const std::string& name : chosen != nullptr ? std::vector<std::string>{chosen} : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) break;
    const char* error = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(error != nullptr ? error : name);
  }
  if (handle_ == nullptr) throw std::runtime_error(tried);
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0) path_ = map->l_name;
}

void* Library::symbol_at(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) throw std::runtime_error(path_ + " lacks " + symbol);
  return found;
}

}  // namespace fuseplan::driver
