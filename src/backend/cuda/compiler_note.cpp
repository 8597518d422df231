// SPDX-License-Identifier: MIT
#include "backend/cuda/compiler_note.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

namespace fuseplan::cuda {
namespace {

constexpr std::string_view kStart = "\nfuseplan-compiler: ";
constexpr std::size_t kLongest = 256;

// "12.9 CL-1" and nothing else.
CompilerId parse(std::string_view text) {
  CompilerId id;
  const char* const end = text.data() + text.size();
  const auto [dot, bad_major] = std::from_chars(text.data(), end, id.major);
  if (bad_major != std::errc{} || dot == end || *dot != '.') return {};
  const auto [space, bad_minor] = std::from_chars(dot + 1, end, id.minor);
  if (bad_minor != std::errc{} || space == end || *space != ' ') return {};
  id.build.assign(space + 1, end);
  return id;
}

}  // namespace

std::string to_text(const CompilerId& id) {
  return fmt::format("{}.{} {}", id.major, id.minor, id.build);
}

bool is_older(const CompilerId& id, const CompilerId& now) {
  const auto then = std::tie(id.major, id.minor), later = std::tie(now.major, now.minor);
  return then < later || (then == later && id.build != now.build);
}

void append_compiler(std::vector<std::byte>& image, const CompilerId& id) {
  const std::string note = std::string(kStart) + to_text(id);
  const auto* bytes = reinterpret_cast<const std::byte*>(note.data());
  image.insert(image.end(), bytes, bytes + note.size());
}

CompilerId compiler_of(std::span<const std::byte> image) {
  const std::span tail = image.last(std::min(image.size(), kLongest));
  const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
  const std::size_t at = text.rfind(kStart);
  return at == text.npos ? CompilerId{} : parse(text.substr(at + kStart.size()));
}

}  // namespace fuseplan::cuda
