// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>

#include "miopen/objects.hpp"

namespace fuseplan::miopen {

struct Activation {
  int mode = miopenActivationPASTHRU;
  std::array<double, 3> parameters{};  ///< activAlpha, activBeta, activGamma
};
Activation activation_of(miopenActivationDescriptor_t descriptor);

/// A mode's name in a chain. Throws Error(UnsupportedOp) for no mode.
const char* activation_text(int mode);

/// A mode's derivative in a chain, and scalars to use for it in place of the caller's.
struct BackwardMode {
  const char* text;
  std::optional<std::array<double, 3>> scalars = {};
};
/// As MIOpen computes it. Throws Error(UnsupportedOp) for POWER, which in MIOpen is no derivative
/// of the sum: it leaves out dy.
BackwardMode backward_mode(int mode);

}  // namespace fuseplan::miopen
