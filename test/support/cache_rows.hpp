// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/store.hpp"

// Keys and rows that tests of the kernel cache can make again from a number.
namespace fuseplan::test {

inline CacheKey sample_key(std::uint64_t number) {
  return KeyBuilder().field("schema", 1).field("plan", "sample").field("number", number).build();
}

/// The blob is noise that does not compress when `noise` is set, else text that does.
inline Row sample_row(std::uint64_t number, std::size_t bytes = 2000, bool noise = true) {
  Row row{"entry=kernel_" + std::to_string(number), std::vector<std::byte>(bytes)};
  std::uint64_t state = number * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& byte : row.blob) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    byte = static_cast<std::byte>(noise ? state >> 32 : (state >> 32) % 4);
  }
  return row;
}

/// A store of this directory that remembers what it warned of.
struct WatchedStore {
  explicit WatchedStore(const std::string& directory, StoreConfig config = {}) {
    config.directory = directory;
    config.warn = [this](std::string_view text) { warnings.emplace_back(text); };
    store.emplace(config, find_place(config.directory, config.environment));
  }
  KernelStore* operator->() { return &*store; }
  KernelStore& operator*() { return *store; }

  std::vector<std::string> warnings;
  std::optional<KernelStore> store;
};

}  // namespace fuseplan::test
