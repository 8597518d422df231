// SPDX-License-Identifier: MIT
#pragma once

#include "support/reference.hpp"

namespace fuseplan::test {

// The operators of training; formulas and bounds in reference_training.cpp.

void run_training(ReferenceResult& result, const BatchNormTraining& op);
/// `next` recomputes what the activation read forward if `op` has no source.
void run_training(ReferenceResult& result, const ActivationBackward& op,
                  const BatchNormBackward* next);
void run_training(ReferenceResult& result, const BatchNormBackward& op);

}  // namespace fuseplan::test
