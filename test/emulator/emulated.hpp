// SPDX-License-Identifier: MIT
#pragma once

#include "../matrix/matrix.hpp"
#include "control.hpp"

namespace fuseplan::test {

/// FUSEPLAN_TEST_DEVICE=gpu: the device is this machine's, found as any program finds it, and not
/// the emulated one. Only tests that ask the emulator nothing can run there.
bool on_gpu();

/// A handle on the emulated device. Kernels stay in memory.
Handle emulated_handle(const char* options = "--cache=mem");

/// A case whose tensors kernels may touch, and nothing else of the host's memory. On a GPU: a case
/// with copies there.
class EmulatedCase : public Case {
 public:
  explicit EmulatedCase(ProblemSpec problem, const CaseOptions& options = {});
  ~EmulatedCase();

 private:
  std::vector<const void*> known_;
};

/// Like expect_right(), on the emulated device, with the plan's solver pinned if one is named.
/// Notes the result in the file that FUSEPLAN_DEVICE_RECORD names: a line of problem, options and a
/// digest, so that one device's results can be held against another's.
void expect_right_on_device(const Handle& handle, const ProblemSpec& problem,
                            const char* solver = nullptr, const CaseOptions& options = {});

}  // namespace fuseplan::test
