// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace fuseplan::cpu {

/// Takes `before` and then a number off the front of a configuration's text. Parsers spell what
/// they have read again and compare, so that one configuration has one text and bad numbers do not
/// slip through.
template <typename Number>
bool take(std::string_view& text, std::string_view before, Number& number) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace fuseplan::cpu
