// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::driver {

/// The same ops as a case, each a plan of its own: what a framework without fusion runs. The first
/// writes the output, the others work on it in place. Shares the case's input and parameters.
class Unfused {
 public:
  Unfused(Case& fused, fuseplanHandle_t handle);
  void execute(fuseplanHandle_t handle);
  test::HostTensor& output() { return output_; }

 private:
  std::vector<std::unique_ptr<Case>> steps_;
  const void* input_;
  test::HostTensor output_;
};

}  // namespace fuseplan::driver
