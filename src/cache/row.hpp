// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/key.hpp"

namespace fuseplan {

/// What the cache keeps for a key: a binary, and the text its loader needs.
struct Row {
  std::string meta;
  std::vector<std::byte> blob;
  bool operator==(const Row&) const = default;
};

/// A row as the database holds it. Nothing in it is believed before unpack_row() has checked it.
struct StoredRow {
  enum Coding : std::int64_t { kPlain = 0, kZstd = 1 };

  std::string key_text;
  std::string meta;
  std::int64_t coding = kPlain;
  std::int64_t size = 0;  ///< bytes of the blob once decoded
  std::vector<std::byte> blob;
  std::vector<std::byte> digest;

  bool operator==(const StoredRow&) const = default;
  std::uint64_t bytes() const { return key_text.size() + meta.size() + blob.size(); }
};

/// No kernel is near this; it bounds what a damaged size field can make us allocate.
inline constexpr std::int64_t kMaxBlobBytes = std::int64_t{256} << 20;

/// Compresses the blob when that helps, and binds key, text, meta and stored bytes by one digest.
StoredRow pack_row(const CacheKey& key, const Row& row);

/// The row, or nothing when the digest, a length or the readable key does not hold.
std::optional<Row> unpack_row(const CacheKey& key, const StoredRow& stored);

/// The digest of a tuning result, bound to its key in the same way.
Digest tuning_digest(const CacheKey& key, std::string_view value);

/// True when the stored bytes are exactly this digest.
bool equal_digest(std::span<const std::byte> stored, const Digest& digest);

}  // namespace fuseplan
