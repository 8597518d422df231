// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include "plan/tensor.hpp"

namespace fuseplan {

/// Lengths as an argument of a sentence that is seldom written: spelled when it is. For `require`,
/// whose arguments are made on every call.
struct Spelled {
  const Dims& dims;
  char separator = 'x';
};

}  // namespace fuseplan

template <>
struct fmt::formatter<fuseplan::Spelled> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const fuseplan::Spelled& spelled, Context& context) const {
    return fmt::formatter<std::string_view>::format(
        fuseplan::dims_text(spelled.dims, spelled.separator), context);
  }
};
