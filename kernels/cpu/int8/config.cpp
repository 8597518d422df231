// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/config.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fuseplan::cpu {
namespace {

/// Takes `before` and then a number off the front of `text`.
template <typename Number>
bool take(std::string_view& text, std::string_view before, Number& number) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string to_text(const ByteConfig& config) {
  return fmt::format("{}x{},block={}", config.pixels, config.vectors, config.block);
}

std::optional<ByteConfig> parse_byte_config(std::string_view text) {
  std::string_view rest = text;
  ByteConfig config;
  if (!take(rest, "", config.pixels) || !take(rest, "x", config.vectors) ||
      !take(rest, ",block=", config.block))
    return std::nullopt;
  // Spelled back, so that one config has one text and bad numbers do not slip through.
  if (to_text(config) != text || config.pixels < 1 || config.vectors < 1 || config.block < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
