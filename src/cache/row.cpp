// SPDX-License-Identifier: MIT
#include "cache/row.hpp"

#include <zstd.h>

#include <cstring>

namespace fuseplan {
namespace {

Digest kernel_digest(const Digest& key, const StoredRow& row) {
  return FieldWriter()
      .field("fuseplan kernel row 1")
      .field(std::as_bytes(std::span(key)))
      .field(row.key_text)
      .field(row.meta)
      .field(static_cast<std::uint64_t>(row.coding))
      .field(static_cast<std::uint64_t>(row.size))
      .field(std::span(row.blob))
      .digest();
}

// Empty when compression saves less than a sixteenth: then decoding costs more than it gains.
std::vector<std::byte> compress(const std::vector<std::byte>& blob) {
  std::vector<std::byte> out(ZSTD_compressBound(blob.size()));
  const std::size_t bytes = ZSTD_compress(out.data(), out.size(), blob.data(), blob.size(), 3);
  if (ZSTD_isError(bytes) || bytes > blob.size() - blob.size() / 16) return {};
  out.resize(bytes);
  return out;
}

std::optional<std::vector<std::byte>> decompress(const std::vector<std::byte>& stored,
                                                 std::size_t size) {
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != size) return std::nullopt;
  std::vector<std::byte> out(size);
  if (ZSTD_decompress(out.data(), size, stored.data(), stored.size()) != size) return std::nullopt;
  return out;
}

}  // namespace

StoredRow pack_row(const CacheKey& key, const Row& row) {
  StoredRow stored;
  stored.key_text = key.text;
  stored.meta = row.meta;
  stored.size = static_cast<std::int64_t>(row.blob.size());
  stored.blob = compress(row.blob);
  stored.coding = stored.blob.empty() ? StoredRow::kPlain : StoredRow::kZstd;
  if (stored.coding == StoredRow::kPlain) stored.blob = row.blob;
  const Digest digest = kernel_digest(key.digest, stored);
  const auto bytes = std::as_bytes(std::span(digest));
  stored.digest.assign(bytes.begin(), bytes.end());
  return stored;
}

std::optional<Row> unpack_row(const CacheKey& key, const StoredRow& stored) {
  if (stored.key_text != key.text) return std::nullopt;
  if (stored.size < 0 || stored.size > kMaxBlobBytes) return std::nullopt;
  if (!equal_digest(stored.digest, kernel_digest(key.digest, stored))) return std::nullopt;
  const auto size = static_cast<std::size_t>(stored.size);
  if (stored.coding == StoredRow::kPlain) {
    if (stored.blob.size() != size) return std::nullopt;
    return Row{stored.meta, stored.blob};
  }
  if (stored.coding != StoredRow::kZstd) return std::nullopt;
  auto blob = decompress(stored.blob, size);
  if (!blob) return std::nullopt;
  return Row{stored.meta, std::move(*blob)};
}

Digest tuning_digest(const CacheKey& key, std::string_view value) {
  return FieldWriter()
      .field("fuseplan tuning row 1")
      .field(std::as_bytes(std::span(key.digest)))
      .field(key.text)
      .field(value)
      .digest();
}

bool equal_digest(std::span<const std::byte> stored, const Digest& digest) {
  return stored.size() == digest.size() &&
         std::memcmp(stored.data(), digest.data(), digest.size()) == 0;
}

}  // namespace fuseplan
