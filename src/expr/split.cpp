// SPDX-License-Identifier: MIT
#include "expr/split.hpp"

#include <algorithm>

#include "base/status.hpp"
#include "expr/intern.hpp"

namespace fuseplan {
namespace {

// One part under construction. `moved` has its copy of each node of the whole expression.
struct Part {
  Part(Expr& result, Ref size) : expr(result), interner(result.graph), moved(size, kNoRef) {}

  // The number of the root that `ref`, a node of this part, is or becomes.
  int root(Ref ref) {
    const auto found = std::find(expr.roots.begin(), expr.roots.end(), ref);
    if (found != expr.roots.end()) return static_cast<int>(found - expr.roots.begin());
    expr.roots.push_back(ref);
    return static_cast<int>(expr.roots.size()) - 1;
  }

  Expr& expr;
  Interner interner;
  std::vector<Ref> moved;
};

class Splitter {
 public:
  Splitter(const Graph& whole, SplitChain& result)
      : whole_(whole),
        rates_(rates_of(whole_)),
        parts_{Part(result.uniforms, whole_.size()), Part(result.channels, whole_.size()),
               Part(result.body, whole_.size())} {}

  void run(const std::vector<Ref>& roots) {
    for (Ref ref = 0; ref < whole_.size(); ++ref) {
      Part& own = part(rate(ref));
      Node node = whole_[ref];
      for (Ref& arg : node.args)
        if (arg != kNoRef) arg = brought(arg, rate(ref));
      own.moved[static_cast<std::size_t>(ref)] = own.interner.push(node);
    }
    for (Ref root : roots) part(Rate::element).expr.roots.push_back(brought(root, Rate::element));
  }

 private:
  Rate rate(Ref ref) const { return rates_[static_cast<std::size_t>(ref)]; }
  Part& part(Rate rate) { return parts_[static_cast<std::size_t>(rate)]; }

  // Node `ref` of the whole expression as a node of the part of `target`.
  Ref brought(Ref ref, Rate target) {
    Part& to = part(target);
    if (whole_[ref].leaf == Leaf::constant) return to.interner.push(whole_[ref]);
    Part& from = part(rate(ref));
    const Ref local = from.moved[static_cast<std::size_t>(ref)];
    if (rate(ref) == target) return local;
    const Leaf leaf = rate(ref) == Rate::uniform ? Leaf::scalar : Leaf::channel;
    return to.interner.push({.leaf = leaf, .index = from.root(local)});
  }

  const Graph& whole_;
  std::vector<Rate> rates_;
  std::array<Part, 3> parts_;
};

}  // namespace

bool SplitChain::reads_previous() const {
  for (Ref ref = 0; ref < body.graph.size(); ++ref)
    if (body.graph[ref].leaf == Leaf::previous) return true;
  return false;
}

namespace {

SplitChain split_over(const Chain& chain, const Expr& expr) {
  SplitChain result;
  result.scalars = chain.scalars;
  result.channels_in = chain.channels;
  result.elements = chain.elements;
  Splitter(expr.graph, result).run(expr.roots);
  for (Expr* part : {&result.uniforms, &result.channels, &result.body}) *part = compact(*part);
  return result;
}

}  // namespace

SplitChain split(const Chain& chain) {
  require(chain.expr.roots.size() == 1, Status::InternalError,
          "a chain has one result, this one has {}", chain.expr.roots.size());
  SplitChain result = split_over(chain, chain.expr);
  if (!chain.sums.roots.empty()) result.sums.push_back(split_over(chain, chain.sums));
  result.results = chain.results;
  return result;
}

}  // namespace fuseplan
