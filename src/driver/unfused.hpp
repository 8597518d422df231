// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::driver {

/// Each op of a problem as a problem of its own. What lies between them has the input's type, of
/// 8-bit integers f32, which holds their sums.
std::vector<ProblemSpec> steps_of(const ProblemSpec& whole);

/// Whether what lies between the ops cannot wait in the output: then only the last op writes it,
/// and the others a tensor of their own, in which all but the first work in place.
bool needs_tensor_between(const ProblemSpec& whole);

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
  std::optional<test::HostTensor> between_;
  Placement placement_;  ///< of both
};

}  // namespace fuseplan::driver
