// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace fuseplan::api {

/// Strings that structs of the C API point to: equal text is kept once, for the pool's life.
class StringPool {
 public:
  const char* keep(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto found = strings_.find(text);
    return (found != strings_.end() ? found : strings_.emplace(text).first)->c_str();
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> strings_;
};

}  // namespace fuseplan::api
