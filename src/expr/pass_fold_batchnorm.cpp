// SPDX-License-Identifier: MIT
// Chains of additions and multiplications by values that change less often than the element,
// such as bias, batch normalisation, scale and shift, alpha, collapse to one base * mul + add.
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {
namespace {

// base * mul + add, in the new graph; an absent mul is 1, an absent add is 0.
struct Affine {
  Ref base = kNoRef, mul = kNoRef, add = kNoRef;
  int steps = 0;  // nodes of the old graph that it stands for
};

class Folding {
 public:
  explicit Folding(Expr& expr)
      : expr_(expr), uses_(use_counts(expr)), rates_(rates_of(expr.graph)) {}

  int run() {
    const auto size = static_cast<std::size_t>(expr_.graph.size());
    forms_.reserve(size);
    moved_.reserve(size);
    graph_.reserve(2 * expr_.graph.size());
    for (Ref ref = 0; ref < expr_.graph.size(); ++ref) {
      forms_.push_back(form_of(ref));
      moved_.push_back(kNoRef);
      // Others are built when somebody needs their value, which a longer chain does not.
      if (forms_.back().steps == 0) moved_.back() = forms_.back().base;
    }
    for (Ref& root : expr_.roots) root = built(root);
    expr_ = compact({std::move(graph_), std::move(expr_.roots)});
    return folded_;
  }

 private:
  template <typename T>
  static T& at(std::vector<T>& list, Ref ref) {
    return list[static_cast<std::size_t>(ref)];
  }

  Affine form_of(Ref ref) {
    const Node& node = expr_.graph[ref];
    Affine form = composed(node);
    if (form.steps > 0) return form;
    Node copy = node;
    for (Ref& arg : copy.args)
      if (arg != kNoRef) arg = built(arg);
    return {graph_.push(copy), kNoRef, kNoRef, 0};
  }

  // The form of an affine function of one element-rate argument; steps == 0 if it is none.
  Affine composed(const Node& node) {
    if (node.leaf != Leaf::none) return {};
    const auto& [a, b, c] = node.args;
    const auto varies = [&](Ref ref) { return at(rates_, ref) == Rate::element; };
    if (node.fn == Fn::neg_ && varies(a)) return scaled(argument(a), graph_.constant(-1));
    if (node.fn == Fn::fma_ && varies(a) && !varies(b) && !varies(c))
      return shifted(scaled(argument(a), built(b)), built(c), 0);
    if (b == kNoRef || c != kNoRef || varies(a) == varies(b)) return {};
    if (node.fn == Fn::add_)
      return varies(a) ? shifted(argument(a), built(b)) : shifted(argument(b), built(a));
    if (node.fn == Fn::mul_)
      return varies(a) ? scaled(argument(a), built(b)) : scaled(argument(b), built(a));
    if (node.fn == Fn::sub_ && varies(a))
      return shifted(argument(a), graph_.call(Fn::neg_, built(b)));
    if (node.fn == Fn::sub_) return shifted(scaled(argument(b), graph_.constant(-1)), built(a), 0);
    if (node.fn == Fn::div_ && varies(a))
      return scaled(argument(a), graph_.call(Fn::div_, graph_.constant(1), built(b)));
    return {};
  }

  // What an argument contributes: its own form, unless its value is needed elsewhere too.
  Affine argument(Ref ref) {
    Affine form = at(forms_, ref);
    if (form.steps > 0 && at(uses_, ref) == 1) return form;
    return {built(ref), kNoRef, kNoRef, 0};
  }

  Affine scaled(Affine form, Ref factor) {
    form.mul = form.mul == kNoRef ? factor : graph_.call(Fn::mul_, form.mul, factor);
    if (form.add != kNoRef) form.add = graph_.call(Fn::mul_, form.add, factor);
    ++form.steps;
    return form;
  }

  Affine shifted(Affine form, Ref summand, int steps = 1) {
    form.add = form.add == kNoRef ? summand : graph_.call(Fn::add_, form.add, summand);
    form.steps += steps;
    return form;
  }

  Ref built(Ref ref) {
    Ref& result = at(moved_, ref);
    if (result != kNoRef) return result;
    const Affine& form = at(forms_, ref);
    if (form.steps == 1) return result = copied(ref, form.base);
    folded_ += form.steps - 1;
    if (form.mul == kNoRef) return result = graph_.call(Fn::add_, form.base, form.add);
    if (form.add == kNoRef) return result = graph_.call(Fn::mul_, form.base, form.mul);
    return result = graph_.call(Fn::fma_, form.base, form.mul, form.add);
  }

  // A single step stays as it was written.
  Ref copied(Ref ref, Ref base) {
    Node node = expr_.graph[ref];
    for (Ref& arg : node.args)
      if (arg != kNoRef) arg = at(rates_, arg) == Rate::element ? base : at(moved_, arg);
    return graph_.push(node);
  }

  Expr& expr_;
  std::vector<int> uses_;
  std::vector<Rate> rates_;
  Graph graph_;
  std::vector<Affine> forms_;
  std::vector<Ref> moved_;
  int folded_ = 0;
};

}  // namespace

int pass_fold_batchnorm(Expr& expr) { return Folding(expr).run(); }

}  // namespace fuseplan
