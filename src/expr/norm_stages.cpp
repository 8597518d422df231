// SPDX-License-Identifier: MIT
#include "expr/norm_stages.hpp"

#include <algorithm>

#include "expr/lower.hpp"

namespace fuseplan {
namespace {

int index_of(const std::vector<Operand>& operands, int op, Role role) {
  const auto found = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
    return operand.op == op && operand.role == role;
  });
  return found == operands.end() ? -1 : static_cast<int>(found - operands.begin());
}

}  // namespace

std::optional<NormStages> norm_stages(const Problem& problem, const SplitChain& chain) {
  const int op = problem.batch_op();
  if (op < 0) return std::nullopt;
  const OpBody& body = problem.ops()[static_cast<std::size_t>(op)].body;
  const auto* training = std::get_if<NormTrainingOp>(&body);
  const Tensor& params = training ? training->params : std::get<NormBackwardOp>(body).params;
  const Tensor& input = problem.input_of(static_cast<std::size_t>(op));
  NormStages stages{.backward = training == nullptr,
                    .op = op,
                    .per_channel = is_per_channel(params, input),
                    .count = input.elements() / params.elements(),
                    .groups = params.elements(),
                    .statistics = statistics_of(params, problem.input()),
                    .params = params};
  const auto& operands = stages.per_channel ? chain.channels_in : chain.elements;
  const auto computed = [&](Role role) { return index_of(operands, op, role); };
  if (training) {
    stages.computed = {computed(Role::batch_mean), computed(Role::batch_inv_deviation)};
    stages.epsilon = index_of(chain.scalars, op, Role::epsilon);
    stages.average_factor = index_of(chain.scalars, op, Role::average_factor);
  } else {
    stages.computed = {computed(Role::gradient_mean), computed(Role::gradient_projection)};
    stages.source = index_of(chain.elements, op, Role::source);
  }
  return stages;
}

std::optional<NormStages> statistics_stages(const Problem& problem, const SplitChain& chain) {
  const StatisticsOp* body = problem.statistics();
  if (body == nullptr) return std::nullopt;
  const int op = static_cast<int>(problem.ops().size()) - 1;
  return NormStages{.backward = false,
                    .op = op,
                    .per_channel = true,
                    .count = problem.output().elements() / body->params.elements(),
                    .groups = body->params.elements(),
                    .statistics = statistics_of(body->params, problem.output()),
                    .params = body->params,
                    .epsilon = index_of(chain.scalars, op, Role::epsilon),
                    .average_factor = index_of(chain.scalars, op, Role::average_factor)};
}

}  // namespace fuseplan
