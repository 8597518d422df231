// SPDX-License-Identifier: MIT
#pragma once

#include "expr/term.hpp"

namespace fuseplan {

/// How a function of the language is differentiated: one row each in derivatives.cpp.
struct Derivative {
  using Partial = Term (*)(Term y, const Term* x);
  using Choose = Term (*)(const Term* x, const Term* dx);

  Fn fn;
  Partial partials[3] = {};  ///< dy / dx[i], over the result y and the arguments x
  Choose choose = nullptr;   ///< functions made of pieces: dy, from the arguments' dx
};
const Derivative& derivative_of(Fn fn);

}  // namespace fuseplan
