// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "expr/expr.hpp"

namespace fuseplan {

/// The graph that a pass builds, with the rate of each of its nodes at hand.
struct Rebuilt {
  Graph graph;
  std::vector<Rate> rates;

  Rate rate(Ref ref) {
    extend_rates(graph, rates);
    return rates[static_cast<std::size_t>(ref)];
  }
  bool is_slower(Ref a, Ref b) { return rate(a) < rate(b); }
  bool is_constant(Ref ref) const { return graph[ref].leaf == Leaf::constant; }
  bool is_call(Ref ref, Fn fn) const {
    return graph[ref].leaf == Leaf::none && graph[ref].fn == fn;
  }
};

/// How often each node is an argument or a root.
std::vector<int> use_counts(const Expr& expr);

/// `node` with its arguments looked up in `moved`.
inline Node with_arguments(Node node, const std::vector<Ref>& moved) {
  for (Ref& arg : node.args)
    if (arg != kNoRef) arg = moved[static_cast<std::size_t>(arg)];
  return node;
}

/// Rebuilds `expr` in order. For each function node, `rule(out, node, original)` gets the node with
/// its arguments already in `out`, and the node's number in `expr`; it returns a replacement in
/// `out`, or kNoRef to keep the node. Returns the number of replacements; without any, `expr` stays
/// as it is, which is compact if a pass or lowering made it.
template <typename Rule>
int rewrite(Expr& expr, Rule&& rule) {
  Rebuilt out;
  std::vector<Ref> moved;
  out.graph.reserve(expr.graph.size());
  moved.reserve(static_cast<std::size_t>(expr.graph.size()));
  int replaced = 0;
  for (Ref original = 0; original < expr.graph.size(); ++original) {
    const Node node = with_arguments(expr.graph[original], moved);
    const Ref replacement = node.leaf == Leaf::none ? rule(out, node, original) : kNoRef;
    replaced += replacement != kNoRef;
    moved.push_back(replacement != kNoRef ? replacement : out.graph.push(node));
  }
  if (replaced == 0) return 0;
  for (Ref& root : expr.roots) root = moved[static_cast<std::size_t>(root)];
  expr = compact({std::move(out.graph), std::move(expr.roots)});
  return replaced;
}

}  // namespace fuseplan
