// SPDX-License-Identifier: MIT
#include "miopen/activation.hpp"

#include "miopen/settings.hpp"
#include "miopen/status.hpp"

namespace fuseplan::miopen {

Activation activation_of(miopenActivationDescriptor_t descriptor) {
  require(descriptor != nullptr, miopenStatusBadParm, "activDesc is NULL");
  fuseplanActivationMode_t mode;
  Activation activation;
  auto& [a, b, g] = activation.parameters;
  check(fuseplanGetActivationDescriptor(fuseplan_of(descriptor), &mode, &a, &b, &g));
  activation.mode = mode;
  return activation;
}

const char* activation_text(int mode) {
  constexpr const char* kNames[] = {"pasthru",   "logistic", "tanh",  "relu",
                                    "softrelu",  "abs",      "power", "clippedrelu",
                                    "leakyrelu", "elu",      "clamp"};
  require(mode >= miopenActivationPASTHRU && mode <= miopenActivationCLAMP,
          miopenStatusUnsupportedOp, "{} is no activation mode", mode);
  const bool quirk = mode == miopenActivationPOWER && settings().quirks;
  return quirk ? "truncated_power" : kNames[mode];
}

BackwardMode backward_mode(int mode) {
  if (!settings().quirks) return {activation_text(mode)};
  require(mode != miopenActivationPOWER, miopenStatusUnsupportedOp,
          "MIOpen's backward of POWER leaves out dy, so it is no part of a chain of gradients; "
          "FUSEPLAN_COMPAT_QUIRKS=0 gives the derivative");
  // dy (x > 0 ? 1 : -1), also at 0.
  if (mode == miopenActivationABS) return {"leakyrelu", std::array<double, 3>{-1, 0, 0}};
  return {activation_text(mode)};
}

}  // namespace fuseplan::miopen
