// SPDX-License-Identifier: MIT
#include "support/tolerance.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace fuseplan::test {
namespace {

/// |actual - expected| in units of the room that the interval leaves on actual's side.
double ratio(const Interval& interval, double expected, double actual) {
  if (actual == expected) return 0;
  if (std::isnan(actual) || std::isnan(expected)) {
    // Integers have no NaN: the interval says what is stored for it.
    const bool right = std::isnan(actual) && std::isnan(expected);
    return right || interval.contains(actual) ? 0 : kUndetermined;
  }
  const double room = actual > expected ? interval.high - expected : expected - interval.low;
  if (!std::isfinite(actual) || !std::isfinite(room) || room <= 0)
    return interval.contains(actual) ? 0 : kUndetermined;
  return std::fabs(actual - expected) / room;
}

}  // namespace

Interval acceptable(Element type, const Bounded& expected) {
  const double floor = type == Element::f32 || type == Element::bf16 ? kFlush : 0;
  return {stored(type, expected.value - expected.error) - floor,
          stored(type, expected.value + expected.error) + floor};
}

Comparison compare(const HostTensor& actual, const ReferenceResult& expected) {
  if (actual.dims() != expected.dims)
    throw std::invalid_argument(fmt::format("comparing a {} tensor with a {} reference",
                                            to_text(actual.dims()), to_text(expected.dims)));
  Comparison result{.elements = actual.elements(), .damage = actual.damage()};
  double largest = 0, largest_error = 0;
  Dims index(expected.dims.size(), 0);
  for (const Bounded& want : expected.values) {
    const double got = actual.get(index);
    if (!want.determined()) {
      ++result.undetermined;
    } else {
      const Interval interval = acceptable(actual.type(), want);
      const double units = ratio(interval, want.value, got);
      if (units > 1) ++result.mismatches;
      if (units > result.worst_ratio || result.worst_index.empty()) {
        result.worst_ratio = units;
        result.worst_index = index;
        result.worst_actual = got;
        result.worst_expected = want.value;
        result.worst_tolerance =
            got > want.value ? interval.high - want.value : want.value - interval.low;
      }
      if (std::isfinite(got) && std::isfinite(want.value)) {
        largest = std::max(largest, std::fabs(want.value));
        largest_error = std::max(largest_error, std::fabs(got - want.value));
      }
    }
    advance(index, expected.dims);
  }
  result.max_relative_error = largest > 0 ? largest_error / largest : largest_error;
  return result;
}

std::string Comparison::describe() const {
  std::string text = fmt::format(
      "{} of {} elements differ, {} undetermined; worst at [{}]: expected {:.9g}, got {:.9g}, "
      "tolerance {:.3g} ({:.3g} of it used)",
      mismatches, elements, undetermined, to_text(worst_index), worst_expected, worst_actual,
      worst_tolerance, worst_ratio);
  return damage.empty() ? text : text + "; " + damage;
}

}  // namespace fuseplan::test
