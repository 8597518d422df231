// SPDX-License-Identifier: MIT
#include "api/guard.hpp"
#include "api/modes.hpp"
#include "api/objects.hpp"
#include "fuseplan/convolution.h"

using namespace fuseplan;
using namespace fuseplan::api;

fuseplanStatus_t fuseplanCreateActivationDescriptor(fuseplanActivationDescriptor_t* activDesc) {
  return guard(__func__, [&] {
    *required(activDesc, "activDesc") = create<fuseplanActivationDescriptor_t>();
  });
}

fuseplanStatus_t fuseplanDestroyActivationDescriptor(fuseplanActivationDescriptor_t activDesc) {
  return guard(__func__, [&] { destroy(activDesc, "activDesc"); });
}

fuseplanStatus_t fuseplanSetActivationDescriptor(fuseplanActivationDescriptor_t activDesc,
                                                 fuseplanActivationMode_t mode, double activAlpha,
                                                 double activBeta, double activGamma) {
  return guard(__func__, [&] {
    const auto object = pin(activDesc, "activDesc");
    *object = {activation_of(mode), activAlpha, activBeta, activGamma};
  });
}

fuseplanStatus_t fuseplanGetActivationDescriptor(fuseplanActivationDescriptor_t activDesc,
                                                 fuseplanActivationMode_t* mode, double* activAlpha,
                                                 double* activBeta, double* activGamma) {
  return guard(__func__, [&] {
    const auto object = pin(activDesc, "activDesc");
    store(mode, object->mode);
    store(activAlpha, object->alpha);
    store(activBeta, object->beta);
    store(activGamma, object->gamma);
  });
}
