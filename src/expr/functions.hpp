// SPDX-License-Identifier: MIT
#pragma once

#include "expr/expr.hpp"

namespace fuseplan {

/// The definition of `fn` in functions.def; arguments beyond its arity are not looked at.
double apply(Fn fn, double a, double b = 0, double c = 0);

}  // namespace fuseplan
