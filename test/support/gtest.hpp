// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include "support/tolerance.hpp"

namespace fuseplan::test {

/// EXPECT_TRUE(is_close(output, reference)) << what was computed;
inline ::testing::AssertionResult is_close(const HostTensor& actual,
                                           const ReferenceResult& expected) {
  const Comparison comparison = compare(actual, expected);
  if (comparison.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << comparison.describe();
}

}  // namespace fuseplan::test
