// SPDX-License-Identifier: MIT
#include "backend/cuda/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

#include "base/environment.hpp"
#include "base/log.hpp"

namespace fuseplan::cuda {
namespace {

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != 0 ? map->l_name : "";
}

class Search {
 public:
  /// Notes the failure and goes on, or keeps what it found.
  bool open(const std::string& name, int flags = 0) {
    result_.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (result_.handle == nullptr) {
      const char* error = dlerror();
      if (flags == 0) result_.why += std::string(result_.why.empty() ? "" : "; ") + error;
      return false;
    }
    result_.path = path_of(result_.handle);
    result_.why.clear();
    log(LogLevel::info, "library", "{}", result_.path);
    return true;
  }
  Library result() && { return std::move(result_); }

 private:
  Library result_;
};

int add_wheel_directory(dl_phdr_info* info, size_t, void* out) {
  constexpr std::string_view kVendor = "/nvidia/";
  const std::string_view path = info->dlpi_name;
  const std::size_t at = path.rfind(kVendor);
  if (at != path.npos)
    for (const char* directory : {"cu13/lib", "cuda_nvrtc/lib"})  // of CUDA 13, and up to 12
      static_cast<std::vector<std::string>*>(out)->push_back(
          std::string(path.substr(0, at + kVendor.size())) + directory);
  return 0;
}

}  // namespace

void* Library::find(const char* symbol) const { return dlsym(handle, symbol); }

Library open_library(const LibraryQuery& query) {
  Search search;
  if (const auto path = environment(query.override_variable)) {
    (void)search.open(*path);
    return std::move(search).result();
  }
  for (const std::string& name : query.sonames)
    if (search.open(name, RTLD_NOLOAD)) return std::move(search).result();
  for (const std::string& name : query.sonames)
    if (search.open(name)) return std::move(search).result();
  for (const std::string& directory : query.directories)
    for (const std::string& name : query.sonames)
      if (search.open(directory + "/" + name)) return std::move(search).result();
  return std::move(search).result();
}

std::vector<std::string> toolkit_directories() {
  std::vector<std::string> directories;
  dl_iterate_phdr(add_wheel_directory, &directories);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto root = environment(variable)) directories.push_back(*root + "/lib64");
  directories.push_back("/usr/local/cuda/lib64");
  return directories;
}

}  // namespace fuseplan::cuda
