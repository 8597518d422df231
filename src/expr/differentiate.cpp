// SPDX-License-Identifier: MIT
#include "base/status.hpp"
#include "expr/derivatives.hpp"
#include "expr/passes.hpp"
#include "expr/readers.hpp"

namespace fuseplan {
namespace {

// Forward mode: the tangent of each node, kNoRef where it is 0, in the order of the graph.
class Differentiation {
 public:
  Differentiation(const Graph& graph, Leaf leaf, int index, Leaf seed)
      : graph_(graph), leaf_(leaf), index_(index) {
    const Ref count = graph.size();
    seed_ = seed == Leaf::none ? graph_.constant(1) : graph_.leaf(seed);
    for (Ref ref = 0; ref < count; ++ref) tangents_.push_back(tangent_of(ref));
  }

  Expr result(Ref root) && {
    Ref tangent = tangents_[static_cast<std::size_t>(root)];
    if (tangent == kNoRef) tangent = graph_.constant(0);
    return compact({std::move(graph_), {tangent}});
  }

 private:
  Term term(Ref ref) { return {&graph_, ref}; }

  Ref tangent_of(Ref ref) {
    const Node node = graph_[ref];  // a copy: building derivatives grows the graph
    if (node.leaf != Leaf::none) return node.leaf == leaf_ && node.index == index_ ? seed_ : kNoRef;
    const Derivative& rule = derivative_of(node.fn);
    Term x[3] = {}, dx[3] = {};
    bool moves = false;
    for (std::size_t i = 0; i < 3 && node.args[i] != kNoRef; ++i) {
      x[i] = term(node.args[i]);
      dx[i] = term(tangents_[static_cast<std::size_t>(node.args[i])]);
      moves |= dx[i].ref != kNoRef;
    }
    if (!moves) return kNoRef;
    return rule.choose ? chosen(rule, x, dx) : summed(rule, term(ref), x, dx);
  }

  Ref chosen(const Derivative& rule, const Term* x, Term* dx) {
    for (int i = 0; i < info_of(rule.fn).arity; ++i)
      if (dx[i].ref == kNoRef) dx[i] = x[i].constant(0);
    return rule.choose(x, dx).ref;
  }

  Ref summed(const Derivative& rule, Term y, const Term* x, const Term* dx) {
    Ref sum = kNoRef;
    for (int i = 0; i < info_of(rule.fn).arity; ++i) {
      if (dx[i].ref == kNoRef) continue;
      const Ref part = (rule.partials[i](y, x) * dx[i]).ref;
      sum = sum == kNoRef ? part : graph_.call(Fn::add_, sum, part);
    }
    return sum;
  }

  Graph graph_;
  Leaf leaf_;
  int index_;
  Ref seed_;
  std::vector<Ref> tangents_;
};

}  // namespace

Expr differentiate(const Expr& expr, Leaf leaf, int index, Leaf seed) {
  require(expr.roots.size() == 1, Status::InternalError,
          "only an expression with one result can be differentiated, this one has {}",
          expr.roots.size());
  Expr result = Differentiation(expr.graph, leaf, index, seed).result(expr.roots.front());
  for (auto pass : {pass_canonicalize, pass_constant_fold, pass_simplify, pass_cse}) pass(result);
  return result;
}

}  // namespace fuseplan
