// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "base/digest.hpp"

namespace fuseplan {

/// Identity of a cached result: everything that can change its bytes.
struct CacheKey {
  Digest digest{};   ///< SHA-256 of the named fields
  std::string text;  ///< the same fields, one `name=value` a line; stored, compared on every hit
};

/// Collects the fields of a key. Order, names and values all count; no two field lists share a
/// digest, whatever the values contain.
class KeyBuilder {
 public:
  KeyBuilder& field(std::string_view name, std::string_view value);

  template <std::integral T>
  KeyBuilder& field(std::string_view name, T value) {
    return field(name, std::string_view(std::to_string(value)));
  }

  CacheKey build() const { return {writer_.digest(), text_}; }

 private:
  FieldWriter writer_;
  std::string text_;
};

}  // namespace fuseplan
