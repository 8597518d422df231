// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "miopen/objects.hpp"

namespace fuseplan::miopen {

struct Activation {
  int mode = miopenActivationPASTHRU;
  std::array<double, 3> parameters{};  ///< activAlpha, activBeta, activGamma
};
Activation activation_of(miopenActivationDescriptor_t descriptor);

/// A mode's name in a chain. Throws Error(UnsupportedOp) for no mode.
const char* activation_text(int mode);

}  // namespace fuseplan::miopen
