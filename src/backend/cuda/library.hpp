// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fuseplan::cuda {

/// Where to look for a library of the device's vendor.
struct LibraryQuery {
  const char* override_variable;     ///< environment variable that names the file to take
  std::vector<std::string> sonames;  ///< best first
  std::vector<std::string> directories;
};

/// A library that was opened, or why there is none. Never closed: its threads may outlive us.
struct Library {
  void* handle = nullptr;
  std::string path;  ///< the file that won
  std::string why;   ///< if there is none: every name tried and what the loader said
  explicit operator bool() const { return handle != nullptr; }
  void* find(const char* symbol) const;
};

/// The override if there is one and nothing else; else a copy that the process has loaded already,
/// so that it is shared with the caller's framework; else the loader's own search for each soname;
/// else the directories.
Library open_library(const LibraryQuery& query);

/// Directories of a CUDA toolkit, and of NVIDIA's Python packages beside those that are loaded.
std::vector<std::string> toolkit_directories();

}  // namespace fuseplan::cuda
