// SPDX-License-Identifier: MIT
#include "expr/interval.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace fuseplan {
namespace {

Interval sum(const Interval& a, const Interval& b) {
  // Infinities of both signs add up to NaN, beside which anything is possible.
  const Interval result{a.low + b.low, a.high + b.high};
  return std::isnan(result.low) || std::isnan(result.high) ? Interval{} : result;
}

Interval product(const Interval& a, const Interval& b) {
  // 0 times infinity is NaN; next to it, 0 times what is finite is 0.
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return {low, high};
}

Interval square(const Interval& a) {
  const double low = a.low * a.low, high = a.high * a.high;
  return {a.low <= 0 && a.high >= 0 ? 0 : std::min(low, high), std::max(low, high)};
}

/// Kernels compute in f32, where what is large may become an infinity.
Interval in_f32(const Interval& exact) {
  constexpr double kLarge = FLT_MAX / 2, kInfinity = std::numeric_limits<double>::infinity();
  return {exact.low < -kLarge ? -kInfinity : exact.low,
          exact.high > kLarge ? kInfinity : exact.high};
}

class Intervals {
 public:
  explicit Intervals(const Graph& graph) : graph_(graph) {
    all.reserve(static_cast<std::size_t>(graph.size()));
    for (Ref i = 0; i < graph.size(); ++i) all.push_back(in_f32(of(graph[i])));
  }
  std::vector<Interval> all;

 private:
  Interval of(const Node& node) const {
    if (node.leaf == Leaf::constant && !std::isnan(node.value)) return {node.value, node.value};
    if (node.leaf != Leaf::none) return {};
    const auto& [a, b, c] = node.args;
    switch (node.fn) {
      case Fn::neg_:
        return {-at(a).high, -at(a).low};
      case Fn::add_:
        return sum(at(a), at(b));
      case Fn::sub_:
        return sum(at(a), {-at(b).high, -at(b).low});
      case Fn::mul_:
        return multiplied(a, b);
      case Fn::fma_:
        return sum(multiplied(a, b), at(c));
      case Fn::min_:
        return bounded(a, b, [](double x, double y) { return std::min(x, y); });
      case Fn::max_:
        return bounded(a, b, [](double x, double y) { return std::max(x, y); });
      default:
        return {};
    }
  }

  Interval multiplied(Ref a, Ref b) const { return a == b ? square(at(a)) : product(at(a), at(b)); }

  /// Minimum and maximum return the second argument where the first is NaN, whatever its range.
  template <typename Choose>
  Interval bounded(Ref a, Ref b, const Choose& choose) const {
    const Interval x = at(a), y = at(b);
    Interval result{choose(x.low, y.low), choose(x.high, y.high)};
    if (graph_[a].leaf == Leaf::constant && !std::isnan(graph_[a].value)) return result;
    return {std::min(result.low, y.low), std::max(result.high, y.high)};
  }

  const Interval& at(Ref ref) const { return all[static_cast<std::size_t>(ref)]; }

  const Graph& graph_;
};

}  // namespace

std::vector<Interval> intervals_of(const Graph& graph) { return Intervals(graph).all; }

}  // namespace fuseplan
