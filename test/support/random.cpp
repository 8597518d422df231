// SPDX-License-Identifier: MIT
#include "support/random.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

#include "support/tensor.hpp"

namespace fuseplan::test {

std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("FUSEPLAN_TEST_SEED");
    const std::uint64_t value = text != nullptr ? std::strtoull(text, nullptr, 0) : 20181120;
    fmt::print(stderr, "FUSEPLAN_TEST_SEED={}\n", value);
    return value;
  }();
  return seed;
}

Random::Random(std::uint64_t seed, std::uint64_t stream)
    : engine_(seed + stream * 0x9e3779b97f4a7c15u) {}

double Random::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(engine_() % range);
}

void Random::fill(HostTensor& tensor, double low, double high) {
  double scale = 1, shift = 0;
  if (const auto range = integers_of(tensor.type())) {
    scale = (range->high - range->low + 1) / 2;
    shift = (range->high + range->low) / 2;
  }
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (double& value : values) value = shift + scale * uniform(low, high);
  tensor.set_values(values);
}

}  // namespace fuseplan::test
