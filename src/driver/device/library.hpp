// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace fuseplan::driver {

/// A library of a device's vendor, opened while the program runs and never closed. The driver is
/// built without it and declares what it calls by itself.
class Library {
 public:
  /// The file that the environment variable names, or the first of the names that the loader
  /// finds. Throws std::runtime_error with every name tried.
  Library(const char* override_variable, const std::vector<std::string>& names);

  /// Throws std::runtime_error naming the file and the symbol.
  template <typename Function>
  void find(Function& function, const char* symbol) const {
    function = reinterpret_cast<Function>(symbol_at(symbol));
  }
  const std::string& path() const { return path_; }

 private:
  void* symbol_at(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace fuseplan::driver
