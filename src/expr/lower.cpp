// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

#include "expr/activations.hpp"
#include "expr/chain.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

constexpr const char* kRoles[] = {
#define FUSEPLAN_ROLE(name, text) text,
#include "expr/roles.def"
#undef FUSEPLAN_ROLE
};

bool is_per_channel(const Tensor& params, const Tensor& input) {
  if (params.rank() == 1) return true;
  Dims expected(input.lens.size(), 1);
  expected[1] = input.lens[1];
  return params.lens == expected;
}

// Appends the ops of a problem, one visit each, to the chain's graph.
struct Lowering {
  const Problem& problem;
  Chain& chain;
  int op;
  Term x;

  Term operand(Role role, Leaf leaf, std::vector<Operand>& list, const Tensor& tensor) {
    list.push_back({op, role, tensor});
    return {x.graph, x.graph->leaf(leaf, static_cast<int>(list.size()) - 1)};
  }
  Term scalar(Role role) { return operand(role, Leaf::scalar, chain.scalars, {}); }
  Term tensor(Role role, const Tensor& params) {
    if (is_per_channel(params, problem.input_of(static_cast<std::size_t>(op))))
      return operand(role, Leaf::channel, chain.channels, params);
    return operand(role, Leaf::element, chain.elements, params);
  }

  Term operator()(const ConvOp&) { return x; }
  Term operator()(const BiasOp& bias) { return x + tensor(Role::bias, bias.bias); }
  Term operator()(const NormOp& norm) {
    const Term inverse_deviation =
        rsqrt(tensor(Role::norm_variance, norm.params) + scalar(Role::epsilon));
    const Term normal = (x - tensor(Role::norm_mean, norm.params)) * inverse_deviation;
    return normal * tensor(Role::norm_scale, norm.params) + tensor(Role::norm_bias, norm.params);
  }
  Term operator()(const ActivationOp& body) {
    const Term a = scalar(Role::activ_alpha), b = scalar(Role::activ_beta),
               g = scalar(Role::activ_gamma);
    return {x.graph, activation(*x.graph, body.mode, x.ref, a.ref, b.ref, g.ref)};
  }
  Term operator()(const AddOp& add) {
    return x + scalar(Role::add_scale) * tensor(Role::other, add.other);
  }
  Term operator()(const ScaleShiftOp& body) {
    return x * tensor(Role::scale, body.params) + tensor(Role::shift, body.params);
  }
};

// Keeps the operands that the expression reads, ordered by op and role, and renumbers its leaves.
void settle(std::vector<Operand>& operands, Leaf leaf, Expr& expr) {
  std::vector<int> order;
  for (Ref ref = 0; ref < expr.graph.size(); ++ref)
    if (expr.graph[ref].leaf == leaf) order.push_back(expr.graph[ref].index);
  const auto rank = [&](int index) {
    const Operand& operand = operands[static_cast<std::size_t>(index)];
    return std::tuple(operand.op, operand.role);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  std::vector<Operand> kept;
  std::vector<int> renumbered(operands.size(), 0);
  for (int index : order) {
    renumbered[static_cast<std::size_t>(index)] = static_cast<int>(kept.size());
    kept.push_back(std::move(operands[static_cast<std::size_t>(index)]));
  }
  operands = std::move(kept);
  Expr settled{{}, expr.roots};
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    Node node = expr.graph[ref];
    if (node.leaf == leaf) node.index = renumbered[static_cast<std::size_t>(node.index)];
    settled.graph.push(node);
  }
  expr = std::move(settled);
}

}  // namespace

const char* name_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

Chain lower(const Problem& problem) {
  Chain chain;
  Graph graph;
  Term value{&graph, graph.leaf(Leaf::input)};
  for (int i = 0; i < static_cast<int>(problem.ops().size()); ++i) {
    const Op& op = problem.ops()[static_cast<std::size_t>(i)];
    Lowering lowering{problem, chain, i, value};
    value = std::visit(lowering, op.body);
    if (op.blend.alpha) value = value * lowering.scalar(Role::alpha);
    if (op.blend.beta)
      value = value + Term{&graph, graph.leaf(Leaf::previous)} * lowering.scalar(Role::beta);
  }
  chain.expr = compact({std::move(graph), {value.ref}});
  settle(chain.scalars, Leaf::scalar, chain.expr);
  settle(chain.channels, Leaf::channel, chain.expr);
  settle(chain.elements, Leaf::element, chain.expr);
  return chain;
}

}  // namespace fuseplan
