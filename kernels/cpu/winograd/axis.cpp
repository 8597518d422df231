// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

namespace fuseplan::cpu {
namespace {

/// 0, infinity, p and -p for each of `pairs`, and perhaps another.
struct Points {
  std::vector<double> pairs;
  std::optional<double> single = {};
  int count() const { return 2 * static_cast<int>(pairs.size()) + 2 + (single ? 1 : 0); }
};

// Chosen for their errors: those of F(4, 3) are a quarter of what the usual 1 and 2 give. One tap
// needs none.
const struct {
  int taps, stride;
  Points points;
} kAxes[] = {{1, 1, {}},
             {3, 1, {{1.0}}},
             {3, 1, {{0.625, 1.5}}},
             {4, 1, {{0.625, 1.5}}},
             {5, 1, {{0.625, 1.5}}},
             {5, 1, {{0.5, 0.875, 2.25}}},
             {7, 1, {{0.5, 0.875, 2.0}}},
             {7, 1, {{0.375, 0.75, 1.25, 2.0}}},
             {3, 2, {{1.0}}},
             {3, 2, {{0.875}, 2.0}},
             {3, 2, {{0.625, 1.5}}}};

/// Coefficients by powers.
using Polynomial = std::vector<double>;

Polynomial times(const Polynomial& a, const Polynomial& b) {
  Polynomial product(a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  return product;
}

double value_at(const Polynomial& polynomial, double x) {
  double value = 0;
  for (std::size_t i = polynomial.size(); i-- > 0;) value = value * x + polynomial[i];
  return value;
}

/// Vanishes at all points that are in pairs but those of pair number `without`, and at the single.
Polynomial vanishing(const Points& points, std::size_t without) {
  Polynomial product{1};
  for (std::size_t k = 0; k < points.pairs.size(); ++k)
    if (k != without) product = times(product, {-points.pairs[k] * points.pairs[k], 0, 1});
  return points.single ? times(product, {-*points.single, 1}) : product;
}
Polynomial vanishing(const Points& points) { return vanishing(points, points.pairs.size()); }

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

  /// sum of coefficients[i] * value (i + first)
  static Terms series(const Polynomial& coefficients, int first) {
    Terms terms;
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] != 0)
        terms.push_back({static_cast<int>(i) + first, static_cast<float>(coefficients[i])});
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
LinearMap input_map(const Points& points) {
  const int count = points.count();
  MapBuilder map(count, count);
  map.output(0, MapBuilder::series(vanishing(points), 0));
  for (std::size_t k = 0; k < points.pairs.size(); ++k) {
    const Polynomial others = vanishing(points, k);
    const int even = map.sum(MapBuilder::series(others, 2));
    const int odd = map.sum(MapBuilder::series(others, 1));
    map.pair(k, even, odd, points.pairs[k]);
  }
  if (points.single) map.output(count - 2, MapBuilder::series(vanishing({points.pairs}), 1));
  map.output(count - 1, MapBuilder::series(vanishing(points), 1));
  return map.take();
}

// Rows of G: 1, x, x^2, ... at each point, divided by what B^T's polynomial is there.
LinearMap filter_map(const Points& points, int taps) {
  const int count = points.count();
  MapBuilder map(taps, count);
  const auto powers = [&](double x, double divisor) {
    MapBuilder::Terms terms;
    for (int i = 0; i < taps; ++i)
      if (i == 0 || x != 0) terms.push_back({i, static_cast<float>(std::pow(x, i) / divisor)});
    return terms;
  };
  map.output(0, powers(0, vanishing(points).front()));
  for (std::size_t k = 0; k < points.pairs.size(); ++k) {
    const double p = points.pairs[k];
    const Polynomial others = vanishing(points, k);
    const int first = 2 * static_cast<int>(k) + 1;
    map.output(first, powers(p, 2 * p * p * value_at(others, p)));
    map.output(first + 1, powers(-p, 2 * p * p * value_at(others, -p)));
  }
  if (points.single) {
    const double q = *points.single;
    map.output(count - 2, powers(q, q * value_at(vanishing({points.pairs}), q)));
  }
  map.output(count - 1, {{taps - 1, 1}});
  return map.take();
}

// Columns of A^T: 1, x, x^2, ... at each point.
LinearMap output_map(const Points& points, int outputs) {
  const int count = points.count();
  MapBuilder map(count, outputs);
  std::vector<std::array<int, 2>> pairs;  // sum and difference at p and -p
  for (int k = 0; k < static_cast<int>(points.pairs.size()); ++k) {
    const int at_p = 2 * k + 1, at_minus_p = 2 * k + 2;
    const int sum = map.sum({{at_p, 1}, {at_minus_p, 1}});
    pairs.push_back({sum, map.sum({{at_p, 1}, {at_minus_p, -1}})});
  }
  for (int i = 0; i < outputs; ++i) {
    MapBuilder::Terms terms;
    if (i == 0) terms.push_back({0, 1});
    for (std::size_t k = 0; k < points.pairs.size(); ++k)
      terms.push_back({pairs[k][static_cast<std::size_t>(i % 2)],
                       static_cast<float>(std::pow(points.pairs[k], i))});
    if (points.single)
      terms.push_back({count - 2, static_cast<float>(std::pow(*points.single, i))});
    if (i + 1 == outputs) terms.push_back({count - 1, 1});
    map.output(i, std::move(terms));
  }
  return map.take();
}

Axis unstrided_axis(int taps, const Points& points) {
  if (taps == 1) {
    MapBuilder same(1, 1);
    same.output(0, {{0, 1}});
    const LinearMap map = same.take();
    return {1, 1, 1, map, map, map};
  }
  const int outputs = points.count() - taps + 1;
  return {
      taps, 1, outputs, input_map(points), filter_map(points, taps), output_map(points, outputs)};
}

/// Another map's steps behind those there are: `number` says which value each of its inputs is.
void append(LinearMap& to, const LinearMap& from, const std::function<int(int)>& number) {
  const int first = to.inputs + static_cast<int>(to.steps.size());
  for (LinearMap::Step step : from.steps) {
    for (LinearMap::Term& term : step.terms)
      term.value = term.value < from.inputs ? number(term.value) : first + term.value - from.inputs;
    to.steps.push_back(std::move(step));
  }
}

/// Three taps: the products of F(m, 2), and behind them m of the middle tap.
Axis strided_axis(const Points& points) {
  const Axis outer = unstrided_axis(2, points);
  const int m = outer.outputs, products = outer.inputs();
  Axis axis{3, 2, m, {}, {}, {}};
  axis.input = {.inputs = axis.inputs(), .outputs = axis.inputs(), .steps = {}};
  append(axis.input, outer.input, [](int i) { return 2 * i; });
  axis.filter = {.inputs = 3, .outputs = axis.inputs(), .steps = {}};
  append(axis.filter, outer.filter, [](int i) { return 2 * i; });
  for (int i = 0; i < m; ++i) {
    axis.input.steps.push_back({{{2 * i + 1, 1}}, products + i});
    axis.filter.steps.push_back({{{1, 1}}, products + i});
  }
  axis.output = {.inputs = axis.inputs(), .outputs = m, .steps = {}};
  append(axis.output, outer.output, [](int i) { return i; });
  for (LinearMap::Step& step : axis.output.steps)
    if (step.output >= 0) step.terms.push_back({products + step.output, 1});
  return axis;
}

const std::vector<Axis>& all_axes() {
  static const std::vector<Axis> axes = [] {
    std::vector<Axis> made;
    for (const auto& [taps, stride, points] : kAxes)
      made.push_back(stride == 1 ? unstrided_axis(taps, points) : strided_axis(points));
    return made;
  }();
  return axes;
}

}  // namespace

std::vector<const Axis*> axes_of(std::int64_t taps, std::int64_t stride) {
  std::vector<const Axis*> found;
  for (const Axis& axis : all_axes())
    if (axis.taps == taps && axis.stride == stride) found.push_back(&axis);
  return found;
}

const Axis* find_axis(std::int64_t taps, std::int64_t stride, int outputs) {
  for (const Axis* axis : axes_of(taps, stride))
    if (axis->outputs == outputs) return axis;
  return nullptr;
}

}  // namespace fuseplan::cpu
