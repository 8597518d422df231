// SPDX-License-Identifier: MIT
#pragma once

#include "miopen/status.hpp"

namespace fuseplan::miopen {

/// A mode's name in a chain.
inline const char* norm_text(int mode) {
  require(mode == miopenBNPerActivation || mode == miopenBNSpatial, miopenStatusBadParm,
          "{} is no batch normalisation mode", mode);
  return mode == miopenBNSpatial ? "spatial" : "per_activation";
}

}  // namespace fuseplan::miopen
