// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fuseplan {

/// SHA-256. The only hash that is ever stored; libsodium computes it.
using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::span<const std::byte> bytes);
std::string to_hex(std::span<const std::uint8_t> bytes);

/// Appends fields to a byte string such that different field lists never give equal bytes: each
/// field is its length (64-bit little endian) followed by its bytes.
class FieldWriter {
 public:
  FieldWriter& field(std::string_view bytes);
  FieldWriter& field(std::span<const std::byte> bytes);
  FieldWriter& field(std::uint64_t number);
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }
  Digest digest() const { return sha256(bytes()); }

 private:
  std::string bytes_;
};

/// XXH3-128 of tensor contents in memory; never stored, never sent anywhere.
struct ContentHash {
  std::uint64_t low = 0, high = 0;
  bool operator==(const ContentHash&) const = default;
};
ContentHash hash_content(const void* data, std::size_t bytes);

}  // namespace fuseplan
