// SPDX-License-Identifier: MIT
#include "expr/intern.hpp"
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {

// Counts functions only: a leaf that stands twice costs nothing.
int pass_cse(Expr& expr) {
  Graph graph;
  Interner interner(graph);
  std::vector<Ref> moved;
  graph.reserve(expr.graph.size());
  moved.reserve(static_cast<std::size_t>(expr.graph.size()));
  int merged = 0;
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node node = with_arguments(expr.graph[ref], moved);
    const Ref size_before = graph.size();
    moved.push_back(interner.push(node));
    merged += node.leaf == Leaf::none && graph.size() == size_before;
  }
  for (Ref& root : expr.roots) root = moved[static_cast<std::size_t>(root)];
  expr = compact({std::move(graph), std::move(expr.roots)});
  return merged;
}

}  // namespace fuseplan
