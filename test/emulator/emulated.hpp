// SPDX-License-Identifier: MIT
#pragma once

#include "../matrix/matrix.hpp"
#include "control.hpp"

namespace fuseplan::test {

/// A handle on the emulated device. Kernels stay in memory.
Handle emulated_handle(const char* options = "--cache=mem");

/// A case whose tensors kernels may touch, and nothing else of the host's memory.
class EmulatedCase : public Case {
 public:
  explicit EmulatedCase(ProblemSpec problem, const CaseOptions& options = {});
  ~EmulatedCase();

 private:
  std::vector<const void*> known_;
};

/// Like expect_right(), on the emulated device, with the plan's solver pinned if one is named.
void expect_right_on_device(const Handle& handle, const ProblemSpec& problem,
                            const char* solver = nullptr, const CaseOptions& options = {});

}  // namespace fuseplan::test
