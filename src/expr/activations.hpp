// SPDX-License-Identifier: MIT
#pragma once

#include "expr/expr.hpp"
#include "plan/op.hpp"

namespace fuseplan {

/// The activation `mode` of `x` in the expression language. `a`, `b`, `g` are activAlpha, activBeta
/// and activGamma; a mode's definition mentions the ones it reads and no other.
Ref activation(Graph& graph, Activation mode, Ref x, Ref a, Ref b, Ref g);

}  // namespace fuseplan
