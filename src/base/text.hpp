// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuseplan {

/// Pieces of `text` between separators, empty ones included; empty text has one empty piece.
std::vector<std::string_view> split_list(std::string_view text, char separator);

/// "did you mean cse? (one of a, b, cse)": for a name that is none of `known`.
std::string suggest(std::string_view name, const std::vector<std::string>& known);

/// A value as an option list holds it: in quotes where it would not end at its end otherwise.
std::string option_value(std::string_view value);

}  // namespace fuseplan
