// SPDX-License-Identifier: MIT
#include "expr/lower.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "expr/activations.hpp"
#include "expr/readers.hpp"
#include "expr/rewrite.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

constexpr const char* kRoles[] = {
#define FUSEPLAN_ROLE(name, text) text,
#include "expr/roles.def"
#undef FUSEPLAN_ROLE
};

// `expr` over other leaves, in another graph. `leaf` says what stands for each.
template <typename F>
Ref grafted(Graph& graph, const Expr& expr, const F& leaf) {
  std::vector<Ref> moved;
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node& node = expr.graph[ref];
    const bool stays = node.leaf == Leaf::none || node.leaf == Leaf::constant;
    moved.push_back(stays ? graph.push(with_arguments(node, moved)) : leaf(node));
  }
  return moved[static_cast<std::size_t>(expr.roots.front())];
}

// dy * d mode(x) / dx. dy is carried through the derivation, so that where the derivative is 0 by
// choice of a branch the result is 0, whatever dy.
Ref activation_backward(Graph& graph, Activation mode, Ref dy, Ref x, std::array<Ref, 3> params) {
  Graph forward;
  std::array<Ref, 3> scalars;
  for (int i = 0; i < 3; ++i) scalars[static_cast<std::size_t>(i)] = forward.leaf(Leaf::scalar, i);
  const Ref input = forward.leaf(Leaf::input);
  const Ref y = activation(forward, mode, input, scalars[0], scalars[1], scalars[2]);
  const Expr dx = differentiate({std::move(forward), {y}}, Leaf::input, 0, Leaf::element);
  return grafted(graph, dx, [&](const Node& leaf) {
    if (leaf.leaf == Leaf::scalar) return params[static_cast<std::size_t>(leaf.index)];
    return leaf.leaf == Leaf::input ? x : dy;
  });
}

// A normalised value and what it is made of.
struct Normal {
  Term xhat, inv_deviation, scale;
};

// Appends the ops of a problem, one visit each, to the chain's graph.
struct Lowering {
  const Problem& problem;
  Chain& chain;
  int op;
  Term x;
  std::optional<Normal>& recomputed;  // forward's, in front of and in NormBackwardOp
  std::vector<Ref>& sums;

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

  Term operator()(const NormTrainingOp& norm) {
    const Tensor statistics = statistics_of(norm.params, problem.input());
    const Term mean = tensor(Role::batch_mean, statistics);
    const Term normal = (x - mean) * tensor(Role::batch_inv_deviation, statistics);
    write(norm.params,
          {Role::saved_mean, Role::saved_inv_variance, Role::running_mean, Role::running_variance});
    return normal * tensor(Role::norm_scale, norm.params) + tensor(Role::norm_bias, norm.params);
  }
  Term operator()(const ActivationBackwardOp& body) {
    const std::array<Ref, 3> scalars{scalar(Role::activ_alpha).ref, scalar(Role::activ_beta).ref,
                                     scalar(Role::activ_gamma).ref};
    return {x.graph, activation_backward(*x.graph, body.mode, x.ref, activated(body).ref, scalars)};
  }
  Term operator()(const NormBackwardOp& norm) {
    const Normal normal = recompute(norm);
    sums = {x.ref, (x * normal.xhat).ref};
    const Tensor statistics = statistics_of(norm.params, problem.input());
    const Term mean = tensor(Role::gradient_mean, statistics);
    const Term projection = tensor(Role::gradient_projection, statistics);
    write(norm.params, {Role::scale_gradient, Role::bias_gradient});
    return (x - mean - normal.xhat * projection) * (normal.scale * normal.inv_deviation);
  }

  Term operator()(const StatisticsOp& statistics) {
    write(statistics.params, {Role::saved_mean, Role::saved_variance, Role::saved_inv_variance,
                              Role::running_mean, Role::running_variance});
    return x;
  }

  // What the activation of a backward op read forward.
  Term activated(const ActivationBackwardOp& body) {
    const auto next = static_cast<std::size_t>(op) + 1;
    const NormBackwardOp* norm = next < problem.ops().size()
                                     ? std::get_if<NormBackwardOp>(&problem.ops()[next].body)
                                     : nullptr;
    if (norm == nullptr) return operand(Role::source, Leaf::element, chain.elements, body.source);
    ++op;
    const Normal normal = recompute(*norm);
    const Term forward = normal.xhat * normal.scale + tensor(Role::norm_bias, norm->params);
    --op;
    return forward;
  }
  Normal recompute(const NormBackwardOp& norm) {
    if (recomputed) return *recomputed;
    const Term source = operand(Role::source, Leaf::element, chain.elements, norm.source);
    const Term mean = tensor(Role::saved_mean, norm.params);
    const Term inv_deviation = tensor(Role::saved_inv_variance, norm.params);
    const Term scale = tensor(Role::norm_scale, norm.params);
    recomputed = Normal{(source - mean) * inv_deviation, inv_deviation, scale};
    return *recomputed;
  }
  void write(const Tensor& params, std::initializer_list<Role> roles) {
    for (Role role : roles) chain.results.push_back({op, role, params});
  }
};

// Keeps the operands that the expressions read, ordered by op and role, and renumbers their leaves.
void settle(std::vector<Operand>& operands, Leaf leaf, std::initializer_list<Expr*> exprs) {
  std::set<int> read;
  for (const Expr* expr : exprs)
    for (Ref ref = 0; ref < expr->graph.size(); ++ref)
      if (expr->graph[ref].leaf == leaf) read.insert(expr->graph[ref].index);
  std::vector<int> order(read.begin(), read.end());
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
  const auto stays = [&](int index) {
    return renumbered[static_cast<std::size_t>(index)] == index;
  };
  if (std::ranges::all_of(read, stays)) return;
  for (Expr* expr : exprs) {
    Expr settled{{}, expr->roots};
    settled.graph.reserve(expr->graph.size());
    for (Ref ref = 0; ref < expr->graph.size(); ++ref) {
      Node node = expr->graph[ref];
      if (node.leaf == leaf) node.index = renumbered[static_cast<std::size_t>(node.index)];
      settled.graph.push(node);
    }
    *expr = std::move(settled);
  }
}

}  // namespace

bool is_per_channel(const Tensor& params, const Tensor& input) {
  if (params.rank() == 1) return true;
  Dims expected(input.lens.size(), 1);
  expected[1] = input.lens[1];
  return params.lens == expected;
}

Tensor statistics_of(const Tensor& params, const Tensor& input) {
  Dims lens = params.lens;
  if (params.rank() == 1) {
    lens.assign(input.lens.size(), 1);
    lens[1] = params.lens[0];
  }
  Tensor statistics = with_lens(input, lens);
  statistics.dtype = DType::f32;
  return statistics;
}

const char* name_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

namespace {

// Scalars that a launch reads outside any expression.
void append_unexpressed(const Problem& problem, Chain& chain) {
  const int last = static_cast<int>(problem.ops().size()) - 1;
  const int op = problem.statistics() != nullptr ? last : problem.batch_op();
  if (op < 0) return;
  if (std::holds_alternative<NormBackwardOp>(problem.ops()[static_cast<std::size_t>(op)].body))
    return;
  for (Role role : {Role::epsilon, Role::average_factor}) chain.scalars.push_back({op, role, {}});
}

}  // namespace

Chain lower(const Problem& problem) {
  Chain chain;
  Graph graph;
  Term value{&graph, graph.leaf(Leaf::input)};
  std::optional<Normal> recomputed;
  std::vector<Ref> sums;
  for (int i = 0; i < static_cast<int>(problem.ops().size()); ++i) {
    const Op& op = problem.ops()[static_cast<std::size_t>(i)];
    Lowering lowering{problem, chain, i, value, recomputed, sums};
    value = std::visit(lowering, op.body);
    if (op.blend.alpha) value = value * lowering.scalar(Role::alpha);
    if (op.blend.beta)
      value = value + Term{&graph, graph.leaf(Leaf::previous)} * lowering.scalar(Role::beta);
  }
  chain.sums = compact({graph, std::move(sums)});
  chain.expr = compact({std::move(graph), {value.ref}});
  settle(chain.scalars, Leaf::scalar, {&chain.expr, &chain.sums});
  settle(chain.channels, Leaf::channel, {&chain.expr, &chain.sums});
  settle(chain.elements, Leaf::element, {&chain.expr, &chain.sums});
  append_unexpressed(problem, chain);
  return chain;
}

}  // namespace fuseplan
