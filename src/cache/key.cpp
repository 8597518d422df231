// SPDX-License-Identifier: MIT
#include "cache/key.hpp"

#include <fmt/format.h>

namespace fuseplan {
namespace {

// One field stays one line, whatever it contains.
void append_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
}

}  // namespace

KeyBuilder& KeyBuilder::field(std::string_view name, std::string_view value) {
  writer_.field(name).field(value);
  append_escaped(text_, name);
  text_ += '=';
  append_escaped(text_, value);
  text_ += '\n';
  return *this;
}

}  // namespace fuseplan
