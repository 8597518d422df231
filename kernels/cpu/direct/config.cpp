// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/config.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fuseplan::cpu {
namespace {

/// Takes `before` and then a number off the front of `text`.
bool take(std::string_view& text, std::string_view before, std::int64_t& number) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string to_text(const DirectConfig& config) {
  return fmt::format("{}x{},block={},chunk={},staged={}{}", config.pixels, config.vectors,
                     config.block, config.chunk, config.staged ? 1 : 0,
                     config.pairs ? ",pairs=1" : "");
}

std::optional<DirectConfig> parse_direct_config(std::string_view text) {
  std::string_view rest = text;
  std::int64_t pixels = 0, vectors = 0, block = 0, chunk = 0, staged = 0, pairs = 0;
  if (!take(rest, "", pixels) || !take(rest, "x", vectors) || !take(rest, ",block=", block) ||
      !take(rest, ",chunk=", chunk) || !take(rest, ",staged=", staged))
    return std::nullopt;
  take(rest, ",pairs=", pairs);
  const DirectConfig config{
      static_cast<int>(pixels), static_cast<int>(vectors), block, chunk, staged == 1, pairs == 1};
  // Spelled back, so that one config has one text and bad numbers do not slip through.
  if (to_text(config) != text || pixels < 1 || vectors < 1 || block < 1 || chunk < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
