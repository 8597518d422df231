// SPDX-License-Identifier: MIT
#pragma once

#include "base/status.hpp"
#include "fuseplan/types.h"
#include "plan/op.hpp"
#include "solve/algorithm.hpp"

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

static_assert(static_cast<int>(Algorithm::gemm) == fuseplanConvolutionFwdAlgoGEMM &&
              static_cast<int>(Algorithm::direct) == fuseplanConvolutionFwdAlgoDirect &&
              static_cast<int>(Algorithm::fft) == fuseplanConvolutionFwdAlgoFFT &&
              static_cast<int>(Algorithm::winograd) == fuseplanConvolutionFwdAlgoWinograd &&
              static_cast<int>(Algorithm::implicit_gemm) == fuseplanConvolutionFwdAlgoImplicitGEMM);

/// none for -1, "any".
inline Algorithm algorithm_of(fuseplanConvFwdAlgorithm_t number) {
  const auto algorithm = static_cast<Algorithm>(number);
  require(name_of(algorithm) != nullptr, Status::InvalidValue,
          "algo is {}, expected a fuseplanConvFwdAlgorithm_t or -1", static_cast<int>(number));
  return algorithm;
}

}  // namespace fuseplan::api
