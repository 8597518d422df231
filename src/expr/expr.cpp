// SPDX-License-Identifier: MIT
#include "expr/expr.hpp"

#include <algorithm>
#include <iterator>

#include "base/status.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {
namespace {

constexpr FnInfo kFunctions[] = {
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) {Fn::name##_, arity, text, gpu},
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
};

Rate rate_of_leaf(Leaf leaf) {
  switch (leaf) {
    case Leaf::constant:
    case Leaf::scalar:
      return Rate::uniform;
    case Leaf::channel:
      return Rate::channel;
    default:
      return Rate::element;
  }
}

}  // namespace

const FnInfo& info_of(Fn fn) { return kFunctions[static_cast<std::size_t>(fn)]; }
int function_count() { return static_cast<int>(std::size(kFunctions)); }

Ref Graph::push(const Node& node) {
  constexpr std::size_t kUsual = 16;  // nodes, more than most chains have
  if (nodes_.capacity() == 0) nodes_.reserve(kUsual);
  const int arity = node.leaf == Leaf::none ? info_of(node.fn).arity : 0;
  for (int i = 0; i < 3; ++i) {
    const Ref arg = node.args[static_cast<std::size_t>(i)];
    require(i < arity ? (arg >= 0 && arg < size()) : arg == kNoRef, Status::InternalError,
            "expression node {}: argument {} is {}", size(), i, arg);
  }
  nodes_.push_back(node);
  return size() - 1;
}

void extend_rates(const Graph& graph, std::vector<Rate>& rates) {
  for (Ref ref = static_cast<Ref>(rates.size()); ref < graph.size(); ++ref) {
    const Node& node = graph[ref];
    Rate rate = Rate::uniform;
    if (node.leaf != Leaf::none) rate = rate_of_leaf(node.leaf);
    for (Ref arg : node.args)
      if (arg != kNoRef) rate = std::max(rate, rates[static_cast<std::size_t>(arg)]);
    rates.push_back(rate);
  }
}

std::vector<Rate> rates_of(const Graph& graph) {
  std::vector<Rate> rates;
  rates.reserve(static_cast<std::size_t>(graph.size()));
  extend_rates(graph, rates);
  return rates;
}

std::vector<int> use_counts(const Expr& expr) {
  std::vector<int> uses(static_cast<std::size_t>(expr.graph.size()), 0);
  for (Ref root : expr.roots) ++uses[static_cast<std::size_t>(root)];
  for (Ref ref = 0; ref < expr.graph.size(); ++ref)
    for (Ref arg : expr.graph[ref].args)
      if (arg != kNoRef) ++uses[static_cast<std::size_t>(arg)];
  return uses;
}

Expr compact(const Expr& expr) {
  Expr result;
  std::vector<Ref> moved(static_cast<std::size_t>(expr.graph.size()), kNoRef);
  const auto is_pending = [&](Ref ref) {
    return ref != kNoRef && moved[static_cast<std::size_t>(ref)] == kNoRef;
  };
  result.graph.reserve(expr.graph.size());
  result.roots.reserve(expr.roots.size());
  std::vector<Ref> waiting;  // a stack of our own: chains are longer than the machine's is deep
  for (Ref root : expr.roots) {
    waiting.push_back(root);
    while (!waiting.empty()) {
      const Ref ref = waiting.back();
      const Node& node = expr.graph[ref];
      const auto pending = std::find_if(node.args.begin(), node.args.end(), is_pending);
      if (pending != node.args.end()) {
        waiting.push_back(*pending);
        continue;
      }
      waiting.pop_back();
      if (is_pending(ref))
        moved[static_cast<std::size_t>(ref)] = result.graph.push(with_arguments(node, moved));
    }
    result.roots.push_back(moved[static_cast<std::size_t>(root)]);
  }
  return result;
}

}  // namespace fuseplan
