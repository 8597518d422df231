// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>

namespace fuseplan::test {

class HostTensor;

/// The number that all test data comes from: FUSEPLAN_TEST_SEED, or a fixed default. Printed once,
/// at the first use.
std::uint64_t test_seed();

/// Reproducible on every platform: the standard fixes the engine, and the distributions are ours.
class Random {
 public:
  /// Sequences with different `stream` are unrelated.
  explicit Random(std::uint64_t stream = 0) : Random(test_seed(), stream) {}
  Random(std::uint64_t seed, std::uint64_t stream);

  double uniform(double low, double high);
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Every element uniform in [low, high), rounded to the tensor's type. The default is signed, so
  /// that RELU clips and sums cancel. Integer types take [-1, 1] as all their values.
  void fill(HostTensor& tensor, double low = -1, double high = 1);

 private:
  std::mt19937_64 engine_;
};

}  // namespace fuseplan::test
