// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace fuseplan::miopen {

/// What the environment says; read once, when the process creates its first handle.
struct Settings {
  std::string device;          ///< FUSEPLAN_DEVICE; empty: fuseplan's default
  std::string options;         ///< for fuseplanSetOptions: aliases of MIOPEN_* variables
  bool refuse = false;         ///< FUSEPLAN_COMPAT_REFUSE: no plan compiles
  bool quirks = true;          ///< FUSEPLAN_COMPAT_QUIRKS: POWER and ABS as MIOpen computes them
  bool deterministic = false;  ///< MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC
};

const Settings& settings();

}  // namespace fuseplan::miopen
