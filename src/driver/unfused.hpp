// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::driver {

/// Each op of a problem as a problem of its own: the first writes the output, the others work on it
/// in place.
std::vector<ProblemSpec> steps_of(const ProblemSpec& whole);

/// The same ops as a case, each a plan of its own: what a framework without fusion runs. Shares the
/// case's input and parameters.
class Unfused {
 public:
  Unfused(Case& fused, fuseplanHandle_t handle);
  void execute(fuseplanHandle_t handle);
  /// With other tensors, where the kernels run.
  void launch(fuseplanHandle_t handle, const void* input, void* output);
  test::HostTensor& output();

 private:
  Case& fused_;
  std::vector<std::unique_ptr<Case>> steps_;
  test::HostTensor output_;
  Placement placement_;  ///< of the output
};

}  // namespace fuseplan::driver
