// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver/case.hpp"

namespace fuseplan::test {

using driver::Case;
using driver::CaseOptions;
using driver::Handle;
using driver::ProblemSpec;

/// The levels every check runs at. Forcing a level above the machine's runs the machine's.
inline const std::vector<std::string> kLevels = {"avx512", "avx2", "portable"};
inline const std::vector<fuseplanDataType_t> kTypes = {fuseplanFloat, fuseplanHalf,
                                                       fuseplanBFloat16};
inline const std::vector<fuseplanDataType_t> kIntegers = {fuseplanInt8, fuseplanUint8};

/// A CPU handle capped at `level`. Kernels stay in memory: what is checked is the generator.
inline Handle handle_at(const std::string& level) {
  auto handle = driver::make<Handle>(fuseplanCreate);
  driver::check(fuseplanSetOptions(handle.get(), ("--cache=mem --max_isa=" + level).c_str()));
  return handle;
}

/// The problem with its input, weights, added tensors and output in another type and layout;
/// parameters keep theirs. Strided tensors keep their strides.
ProblemSpec converted(ProblemSpec problem, fuseplanDataType_t type, bool channels_last);

/// Compiles and executes, and expects every element within the reference's bound and no byte
/// changed outside the output.
void expect_right(const ProblemSpec& problem, const std::string& level,
                  const CaseOptions& options = {});

}  // namespace fuseplan::test
