// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <xxhash.h>

namespace fuseplan {

Digest sha256(std::span<const std::byte> bytes) {
  Digest digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  return digest;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

FieldWriter& FieldWriter::field(std::string_view bytes) {
  const std::uint64_t length = bytes.size();
  for (int shift = 0; shift < 64; shift += 8)
    bytes_.push_back(static_cast<char>((length >> shift) & 0xff));
  bytes_.append(bytes);
  return *this;
}

FieldWriter& FieldWriter::field(std::span<const std::byte> bytes) {
  return field(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

FieldWriter& FieldWriter::field(std::uint64_t number) {
  std::array<char, 8> text;
  for (int i = 0; i < 8; ++i) text[i] = static_cast<char>((number >> (8 * i)) & 0xff);
  return field(std::string_view(text.data(), text.size()));
}

ContentHash hash_content(const void* data, std::size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

}  // namespace fuseplan
