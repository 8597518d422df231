// SPDX-License-Identifier: MIT
#include "expr/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "expr/functions.hpp"
#include "expr/term.hpp"
#include "support/random.hpp"

namespace fuseplan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct IntervalCase {
  Term (*build)(Term x);
  Interval expected;
};

TEST(Intervals, OfWhatTheyAreReadFrom) {
  const IntervalCase cases[] = {
      {[](Term x) { return x; }, {}},
      {[](Term x) { return x.constant(3); }, {3, 3}},
      {[](Term x) { return x.constant(std::nan("")); }, {}},
      {[](Term x) { return max(-2, x); }, {-2, kInfinity}},
      {[](Term x) { return min(5, max(-2, x)); }, {-2, 5}},
      // A NaN for x is answered by the constant.
      {[](Term x) { return min(x, 5); }, {-kInfinity, 5}},
      {[](Term x) { return min(min(4, x), 5); }, {-kInfinity, 5}},
      {[](Term x) { return max(min(4, x), -5); }, {-5, 4}},
      {[](Term x) { return min(min(4, max(1, x)), max(7, x)); }, {1, kInfinity}},
      {[](Term x) { return -min(5, max(-2, x)); }, {-5, 2}},
      {[](Term x) { return min(5, max(-2, x)) - 1; }, {-3, 4}},
      {[](Term x) { return -3 * min(5, max(-2, x)); }, {-15, 6}},
      {[](Term x) { return min(5, x) - min(5, x); }, {}},
      {[](Term x) { return 0 * max(0, x); }, {0, 0}},
      {[](Term x) { return max(-3, x) * max(-3, x); }, {-kInfinity, kInfinity}},
      {[](Term x) {
         const Term v = min(2, max(-3, x));
         return v * v;
       },
       {0, 9}},
      {[](Term x) {
         const Term v = min(-2, max(-3, x));
         return v.call(Fn::fma_, v, v.constant(1));
       },
       {5, 10}},
      {[](Term x) { return exp(min(1, x)); }, {}},
      // In f32 the square is infinite.
      {[](Term x) {
         const Term v = min(1e20, max(-1e20, x));
         return 1e-38 * (v * v);
       },
       {0, kInfinity}},
      {[](Term x) { return x.constant(-1e39); }, {-kInfinity, -1e39}},
  };
  for (const IntervalCase& row : cases) {
    Graph graph;
    const Term term = row.build({&graph, graph.leaf(Leaf::input)});
    const Interval actual = intervals_of(graph)[static_cast<std::size_t>(term.ref)];
    const std::string text = to_text({graph, {term.ref}});
    EXPECT_EQ(actual.low, row.expected.low) << text;
    EXPECT_EQ(actual.high, row.expected.high) << text;
  }
}

/// Some nodes over one input and constants, each of a random function of those before.
Graph random_graph(test::Random& random) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kConstants[] = {0, 1, -1, 0.5, -3, 20, kInfinity, -kInfinity, kNan};
  constexpr Fn kFunctions[] = {Fn::neg_, Fn::add_, Fn::sub_, Fn::mul_,
                               Fn::fma_, Fn::min_, Fn::max_, Fn::exp_};
  const auto below = [&](std::int64_t count) { return random.between(0, count - 1); };
  Graph graph;
  graph.leaf(Leaf::input);
  for (int i = 0; i < 3; ++i) graph.constant(kConstants[below(std::size(kConstants))]);
  for (int i = 0; i < 12; ++i) {
    const Fn fn = kFunctions[below(std::size(kFunctions))];
    const auto argument = [&](int number) {
      return number < info_of(fn).arity ? static_cast<Ref>(below(graph.size())) : kNoRef;
    };
    graph.call(fn, argument(0), argument(1), argument(2));
  }
  return graph;
}

TEST(Intervals, HoldAllValues) {
  test::Random random;
  int bounded = 0;
  for (int round = 0; round < 20000; ++round) {
    const Graph graph = random_graph(random);
    const std::vector<Interval> intervals = intervals_of(graph);
    for (const double x : {0.0, -0.25, 1.0, -7.5, 1e300, kInfinity, -kInfinity, std::nan("")}) {
      std::vector<double> values;
      for (Ref i = 0; i < graph.size(); ++i) {
        const Node& node = graph[i];
        const auto argument = [&](std::size_t number) {
          return node.args[number] == kNoRef ? 0
                                             : values[static_cast<std::size_t>(node.args[number])];
        };
        values.push_back(node.leaf == Leaf::constant ? node.value
                         : node.leaf == Leaf::input
                             ? x
                             : apply(node.fn, argument(0), argument(1), argument(2)));
        const Interval& interval = intervals[static_cast<std::size_t>(i)];
        bounded += interval.low > -kInfinity && interval.high < kInfinity;
        if (std::isnan(values.back())) continue;
        ASSERT_TRUE(interval.low <= values.back() && values.back() <= interval.high)
            << to_text({graph, {i}}) << " at " << x << " is " << values.back() << ", not within "
            << interval.low << " to " << interval.high;
      }
    }
  }
  EXPECT_GT(bounded, 100000);
}

}  // namespace
}  // namespace fuseplan
