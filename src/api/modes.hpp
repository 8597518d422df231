// SPDX-License-Identifier: MIT
#pragma once

#include "base/status.hpp"
#include "fuseplan/types.h"
#include "plan/op.hpp"

// Public enumerators as the enums of the stages below, checked.
namespace fuseplan::api {

inline Activation activation_of(fuseplanActivationMode_t mode) {
  const auto activation = static_cast<Activation>(mode);
  require(name_of(activation) != nullptr, Status::BadParm,
          "mode is {}, expected a fuseplanActivationMode_t", static_cast<int>(mode));
  return activation;
}

inline NormMode norm_mode_of(fuseplanBatchNormMode_t mode) {
  require(mode == fuseplanBNPerActivation || mode == fuseplanBNSpatial, Status::BadParm,
          "bn_mode is {}, expected a fuseplanBatchNormMode_t", static_cast<int>(mode));
  return static_cast<NormMode>(mode);
}

/// -1 for "any".
inline int algorithm_of(fuseplanConvFwdAlgorithm_t algorithm) {
  const int number = static_cast<int>(algorithm);
  require(number >= -1 && number <= fuseplanConvolutionFwdAlgoImplicitGEMM && number != 4,
          Status::InvalidValue, "algo is {}, expected a fuseplanConvFwdAlgorithm_t or -1", number);
  return number;
}

}  // namespace fuseplan::api
