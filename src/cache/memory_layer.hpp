// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "cache/row.hpp"

namespace fuseplan {

/// Verified rows in memory, the least recently used of them dropped above a limit. What remains of
/// the cache when there is no disk. Used under fork_state().memory.
class MemoryLayer {
 public:
  explicit MemoryLayer(std::uint64_t limit) : limit_(limit) {}

  std::shared_ptr<const Row> find(const CacheKey& key);
  void insert(const CacheKey& key, std::shared_ptr<const Row> row);
  bool erase(const Digest& key);
  void clear();

  std::uint64_t rows() const { return entries_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  /// Most recently used first.
  void each(const std::function<void(const CacheKey&, const Row&)>& visit) const;

 private:
  struct Entry {
    CacheKey key;
    std::shared_ptr<const Row> row;
    std::uint64_t bytes;
  };
  using Position = std::list<Entry>::iterator;

  void drop(Position position);

  std::uint64_t limit_, bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<Digest, Position> index_;
};

}  // namespace fuseplan
