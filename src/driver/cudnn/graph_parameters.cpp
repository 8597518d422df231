// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_parameters.hpp"

#include <array>
#include <cmath>

namespace fuseplan::driver {
namespace {

std::size_t parameters_of(const OpSpec& op) {
  switch (op.kind) {
    case OpKind::norm:
      return 4;
    case OpKind::scale_shift:
      return 2;
    case OpKind::activation:
      return 0;
    default:
      return 1;
  }
}

std::size_t first_parameter(const ProblemSpec& problem, std::size_t op) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < op; ++i) first += parameters_of(problem.ops[i]);
  return first;
}

test::HostTensor tensor_of(const TensorSpec& spec, const std::vector<double>& values) {
  test::HostTensor tensor(static_cast<test::Element>(spec.type), spec.lens, spec.strides);
  tensor.set_values(values);
  return tensor;
}

}  // namespace

AffineValues values_of(const ChannelAffine& affine, Case& problem) {
  const auto channels = static_cast<std::size_t>(problem.problem().output_lens()[1]);
  AffineValues y{std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  for (const std::size_t i : affine.ops) {
    const OpSpec& op = problem.problem().ops[i];
    const std::size_t first = first_parameter(problem.problem(), i);
    std::array<std::vector<double>, 4> p;
    for (std::size_t k = 0; k < parameters_of(op); ++k)
      p[k] = problem.parameter(first + k).values();
    for (std::size_t c = 0; c < channels; ++c) {
      double factor = 1, term = 0;
      if (op.kind == OpKind::bias) {
        term = p[0][c];
      } else if (op.kind == OpKind::scale_shift) {
        factor = p[0][c], term = p[1][c];
      } else {
        factor = p[0][c] / std::sqrt(p[3][c] + kNormEpsilon);
        term = p[1][c] - factor * p[2][c];
      }
      y.factor[c] *= factor;
      y.term[c] = factor * y.term[c] + term;
    }
  }
  return y;
}

GraphParameters::GraphParameters(fuseplanHandle_t handle, Case& one, const GraphSpec& spec,
                                 const GraphForm& form)
    : handle_(handle) {
  std::vector<AffineValues> affines;
  for (const ChannelAffine& affine : spec.affines) affines.push_back(values_of(affine, one));
  for (const GraphTensor& tensor : spec.tensors) {
    if (tensor.role == GraphRole::scale)
      place(tensor, tensor_of(tensor.spec, affines[tensor.source].factor));
    if (tensor.role == GraphRole::shift)
      place(tensor, tensor_of(tensor.spec, affines[tensor.source].term));
    if (tensor.role != GraphRole::weights && tensor.role != GraphRole::other) continue;
    const std::size_t parameter = first_parameter(one.problem(), tensor.source);
    std::vector<double> values = one.parameter(parameter).values();
    const bool scaled = tensor.role == GraphRole::weights && form.folded && !affines.empty() &&
                        spec.affines[0].ops[0] == tensor.source + 1;
    const auto filters = static_cast<std::size_t>(tensor.spec.lens[0]);
    for (std::size_t i = 0; scaled && i < values.size(); ++i)
      values[i] *= affines[0].factor[i / (values.size() / filters)];
    for (double& value : values)
      if (tensor.role == GraphRole::other) value *= add_factor(tensor.spec.type);
    place(tensor, tensor_of(tensor.spec, values));
  }
}

void GraphParameters::place(const GraphTensor& tensor, test::HostTensor data) {
  tensors_.emplace(Key{tensor.role, tensor.source},
                   std::make_unique<OnDevice>(handle_, std::move(data)));
}

void* GraphParameters::at(const GraphTensor& tensor) {
  return tensors_.at({tensor.role, tensor.source})->get();
}

}  // namespace fuseplan::driver
