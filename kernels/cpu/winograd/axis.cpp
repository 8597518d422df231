// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace fuseplan::cpu {
namespace {

// The points are 0, infinity, and p and -p for each p of a row. They were chosen for their errors:
// those of F(4, 3) are a quarter of what the usual 1 and 2 give. One tap needs none.
const struct {
  int taps;
  std::vector<double> points;
} kAxes[] = {{1, {}},
             {3, {1.0}},
             {3, {0.625, 1.5}},
             {4, {0.625, 1.5}},
             {5, {0.625, 1.5}},
             {5, {0.5, 0.875, 2.25}},
             {7, {0.5, 0.875, 2.0}},
             {7, {0.375, 0.75, 1.25, 2.0}}};

using Points = std::span<const double>;

/// Coefficients of the product of x^2 - p^2 over all points but number `without`, by powers of x^2.
std::vector<double> vanishing(Points points, std::size_t without) {
  std::vector<double> product{1};
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (k == without) continue;
    product.insert(product.begin(), 0);
    for (std::size_t i = 0; i + 1 < product.size(); ++i)
      product[i] -= points[k] * points[k] * product[i + 1];
  }
  return product;
}

class MapBuilder {
 public:
  MapBuilder(int inputs, int outputs) { map_.inputs = inputs, map_.outputs = outputs; }

  using Terms = SmallVector<LinearMap::Term, 4>;

  /// The number of a sum; that of its only term if it is no more than that.
  int sum(Terms terms) {
    if (terms.size() == 1 && terms.front().factor == 1) return terms.front().value;
    return step(std::move(terms), -1);
  }
  void output(int output, Terms terms) { step(std::move(terms), output); }

  /// Outputs 2 k + 1 and 2 k + 2: an even polynomial plus and minus an odd one.
  void pair(std::size_t k, int even, int odd, double factor) {
    const int first = 2 * static_cast<int>(k) + 1;
    const auto f = static_cast<float>(factor);
    output(first, {{even, 1}, {odd, f}});
    output(first + 1, {{even, 1}, {odd, -f}});
  }

  /// sum of coefficients[i] * value (2 i + first)
  static Terms series(const std::vector<double>& coefficients, int first) {
    Terms terms;
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      terms.push_back({2 * static_cast<int>(i) + first, static_cast<float>(coefficients[i])});
    return terms;
  }

  LinearMap take() { return std::move(map_); }

 private:
  int step(Terms terms, int output) {
    const auto unit = std::ranges::find(terms, 1.0F, &LinearMap::Term::factor);
    if (unit != terms.end()) std::rotate(terms.begin(), unit, unit + 1);
    map_.steps.push_back({std::move(terms), output});
    return map_.inputs + static_cast<int>(map_.steps.size()) - 1;
  }

  LinearMap map_;
};

// Rows of B^T are the polynomials that vanish at all points but one.
LinearMap input_map(Points points) {
  const int n = static_cast<int>(points.size());
  MapBuilder map(2 * n + 2, 2 * n + 2);
  const std::vector<double> all = vanishing(points, points.size());
  map.output(0, MapBuilder::series(all, 0));
  for (std::size_t k = 0; k < points.size(); ++k) {
    const std::vector<double> others = vanishing(points, k);
    const int even = map.sum(MapBuilder::series(others, 2));
    const int odd = map.sum(MapBuilder::series(others, 1));
    map.pair(k, even, odd, points[k]);
  }
  map.output(2 * n + 1, MapBuilder::series(all, 1));
  return map.take();
}

// Rows of G: 1, x, x^2, ... at each point, divided by what B^T's polynomial is there.
LinearMap filter_map(Points points, int taps) {
  const int n = static_cast<int>(points.size());
  MapBuilder map(taps, 2 * n + 2);
  map.output(0, {{0, static_cast<float>(1 / vanishing(points, points.size()).front())}});
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double p = points[k];
    double there = 2 * p * p;
    for (std::size_t j = 0; j < points.size(); ++j)
      if (j != k) there *= p * p - points[j] * points[j];
    std::vector<double> powers[2];  // of even and of odd taps
    for (int i = 0; i < taps; ++i) powers[i % 2].push_back(std::pow(p, i) / there);
    const int even = map.sum(MapBuilder::series(powers[0], 0));
    const int odd = map.sum(MapBuilder::series(powers[1], 1));
    map.pair(k, even, odd, 1);
  }
  map.output(2 * n + 1, {{taps - 1, 1}});
  return map.take();
}

// Columns of A^T: 1, x, x^2, ... at each point.
LinearMap output_map(Points points, int outputs) {
  const int n = static_cast<int>(points.size());
  MapBuilder map(2 * n + 2, outputs);
  std::vector<std::array<int, 2>> pairs;  // sum and difference at p and -p
  for (int k = 0; k < n; ++k) {
    const int at_p = 2 * k + 1, at_minus_p = 2 * k + 2;
    const int sum = map.sum({{at_p, 1}, {at_minus_p, 1}});
    pairs.push_back({sum, map.sum({{at_p, 1}, {at_minus_p, -1}})});
  }
  for (int i = 0; i < outputs; ++i) {
    MapBuilder::Terms terms;
    if (i == 0) terms.push_back({0, 1});
    for (std::size_t k = 0; k < points.size(); ++k)
      terms.push_back(
          {pairs[k][static_cast<std::size_t>(i % 2)], static_cast<float>(std::pow(points[k], i))});
    if (i + 1 == outputs) terms.push_back({2 * n + 1, 1});
    map.output(i, std::move(terms));
  }
  return map.take();
}

Axis make_axis(int taps, Points points) {
  if (taps == 1) {
    MapBuilder same(1, 1);
    same.output(0, {{0, 1}});
    const LinearMap map = same.take();
    return {1, 1, map, map, map};
  }
  const int outputs = 2 * static_cast<int>(points.size()) + 2 - taps + 1;
  return {taps, outputs, input_map(points), filter_map(points, taps), output_map(points, outputs)};
}

const std::vector<Axis>& all_axes() {
  static const std::vector<Axis> axes = [] {
    std::vector<Axis> made;
    for (const auto& [taps, points] : kAxes) made.push_back(make_axis(taps, points));
    return made;
  }();
  return axes;
}

}  // namespace

std::vector<const Axis*> axes_of(std::int64_t taps) {
  std::vector<const Axis*> found;
  for (const Axis& axis : all_axes())
    if (axis.taps == taps) found.push_back(&axis);
  return found;
}

const Axis* find_axis(std::int64_t taps, int outputs) {
  for (const Axis* axis : axes_of(taps))
    if (axis->outputs == outputs) return axis;
  return nullptr;
}

}  // namespace fuseplan::cpu
