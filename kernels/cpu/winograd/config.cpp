// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/config.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

std::string to_text(const WinogradConfig& config) {
  return fmt::format("{}x{},{}x{},tiles={}", config.rows, config.columns, config.pixels,
                     config.vectors, config.tiles);
}

std::optional<WinogradConfig> parse_winograd_config(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::array<int, 5> numbers{};
  std::size_t at = 0;
  for (int& number : numbers) {
    at = text.find_first_of(kDigits, at);
    if (at == std::string_view::npos) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{} || number < 1) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
  }
  const WinogradConfig config{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
  // Spelled back, so that one config has one text.
  if (to_text(config) != text) return std::nullopt;
  if (find_axis(config.rows) == nullptr || find_axis(config.columns) == nullptr)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
