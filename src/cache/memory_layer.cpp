// SPDX-License-Identifier: MIT
#include "cache/memory_layer.hpp"

#include <iterator>
#include <utility>

namespace fuseplan {

std::shared_ptr<const Row> MemoryLayer::find(const CacheKey& key) {
  const auto found = index_.find(key.digest);
  if (found == index_.end() || found->second->key.text != key.text) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->row;
}

void MemoryLayer::insert(const CacheKey& key, std::shared_ptr<const Row> row) {
  erase(key.digest);
  const std::uint64_t bytes = key.text.size() + row->meta.size() + row->blob.size();
  if (bytes > limit_) return;
  while (bytes_ + bytes > limit_) drop(std::prev(entries_.end()));
  std::list<Entry> added;  // so that a failed allocation leaves everything as it was
  added.push_front({key, std::move(row), bytes});
  index_[key.digest] = added.begin();
  entries_.splice(entries_.begin(), added);
  bytes_ += bytes;
}

bool MemoryLayer::erase(const Digest& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return false;
  drop(found->second);
  return true;
}

void MemoryLayer::drop(Position position) {
  bytes_ -= position->bytes;
  index_.erase(position->key.digest);
  entries_.erase(position);
}

void MemoryLayer::clear() {
  entries_.clear();
  index_.clear();
  bytes_ = 0;
}

void MemoryLayer::each(const std::function<void(const CacheKey&, const Row&)>& visit) const {
  for (const Entry& entry : entries_) visit(entry.key, *entry.row);
}

}  // namespace fuseplan
