// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "support/reference.hpp"

namespace fuseplan::test {

// What a correct library may store. The reference gives each element v and a bound e on the f32
// computation's error (bounded.hpp, reference_convolution.cpp). Rounding to the storage type is
// monotone, so a correct result lies between round(v - e) and round(v + e): half a unit in the last
// place, overflow to infinity and exactness where e = 0 (RELU, clamps, copies) all follow. The
// smallest normal number is added for f32 and bf16, whose subnormals are f32 denormals and flushed.
// NaN must answer NaN and nothing else.
struct Interval {
  double low, high;
  bool contains(double actual) const { return low <= actual && actual <= high; }
};
Interval acceptable(Element type, const Bounded& expected);

/// What comparing a tensor with the reference found. Elements are reported, not thrown at.
struct Comparison {
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  std::int64_t undetermined = 0;  ///< rounding decides NaN or overflow: anything is accepted
  /// Largest |actual - expected| in units of the tolerance on that side; above 1 is a mismatch.
  double worst_ratio = 0;
  /// Largest |actual - expected| over largest |expected|, finite elements only.
  double max_relative_error = 0;
  Dims worst_index{};
  double worst_actual = 0, worst_expected = 0, worst_tolerance = 0;
  std::string damage{};  ///< bytes outside the tensor that were overwritten; empty if none

  /// No mismatch, no damage, and nearly all elements determined, so that the check can fail.
  bool ok() const { return mismatches == 0 && damage.empty() && undetermined <= 1 + elements / 64; }
  std::string describe() const;
};

Comparison compare(const HostTensor& actual, const ReferenceResult& expected);

}  // namespace fuseplan::test
