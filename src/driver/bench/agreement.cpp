// SPDX-License-Identifier: MIT
#include "driver/bench/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

using test::Element;
using test::HostTensor;

struct Extremes {
  double difference = 0, value = 0;
  bool comparable = true;  // no NaN on one side only
  void add(double a, double b) {
    if (std::isnan(a) != std::isnan(b)) comparable = false;
    if (std::isnan(a) || a == b) return;
    difference = std::max(difference, std::abs(a - b));
  }
};

Extremes compare_floats(const float* a, const float* b, std::size_t count) {
  Extremes found;
  for (std::size_t i = 0; i < count; ++i) {
    found.add(a[i], b[i]);
    found.value = std::max(found.value, std::abs(static_cast<double>(a[i])));
  }
  return found;
}

Extremes compare_samples(const HostTensor& a, const HostTensor& b, std::int64_t count) {
  constexpr std::int64_t kSamples = 1 << 18;
  Extremes found;
  for (std::int64_t i = 0; i < count; i += 1 + count / kSamples) {
    found.add(a.get_at(i), b.get_at(i));
    found.value = std::max(found.value, std::abs(a.get_at(i)));
  }
  return found;
}

// One unit of an integer that lies on the edge between two.
double bound_of(Element type, double largest) {
  switch (type) {
    case Element::i8:
    case Element::u8:
      return 1 / largest;
    case Element::f16:
      return 8.0 / (1 << 11);
    case Element::bf16:
      return 8.0 / (1 << 8);
    default:
      return 1e-4;
  }
}

}  // namespace

Agreement agree(const HostTensor& ours, const HostTensor& theirs, bool tf32) {
  if (ours.type() != theirs.type() || ours.strides() != theirs.strides())
    throw std::logic_error("agree: results of different type or layout");
  const auto count = ours.bytes() / test::size_of(ours.type());
  const Extremes found = ours.type() == Element::f32
                             ? compare_floats(static_cast<const float*>(ours.data()),
                                              static_cast<const float*>(theirs.data()), count)
                             : compare_samples(ours, theirs, static_cast<std::int64_t>(count));
  const double scale = found.value > 0 ? found.value : 1;
  return {found.comparable ? found.difference / scale : std::nan(""),
          bound_of(tf32 ? Element::f16 : ours.type(), scale)};
}

test::Comparison compare_with_oracle(Case& problem) {
  const std::int64_t images = problem.problem().input.lens[0];
  if (images <= 2 || problem.result_count() > 0) return problem.compare();
  const test::Comparison first = problem.compare_image(0);
  return first.ok() ? problem.compare_image(images - 1) : first;
}

}  // namespace fuseplan::driver
