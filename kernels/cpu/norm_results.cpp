// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm_results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {
namespace {

Tensor of_rank(Tensor params, const Tensor& statistics) {
  if (params.rank() != 1) return params;
  const std::int64_t stride = params.strides[0];
  params = statistics;
  params.strides[1] = stride;
  return params;
}

std::span<const void* const> replaced(std::span<const void* const> operands,
                                      SmallVector<const void*, 16>& list) {
  list.assign(operands.begin(), operands.end());
  return {list.data(), list.size()};
}

}  // namespace

NormResults::NormResults(const NormStages& stages, const SplitChain& chain) : stages_(stages) {
  for (const Operand& operand : chain.results) results_.push_back(operand.role);
  const View own = view_of(stages.statistics);
  const View given = view_of(of_rank(stages.params, stages.statistics));
  std::array<std::size_t, 5> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return own.len[a] > 1 && own.len[b] > 1 ? own.stride[a] > own.stride[b]
                                            : own.len[a] < own.len[b];
  });
  same_order_ = true;
  for (std::size_t i = 0; i < 5; ++i) {
    axes_[i] = {own.len[order[i]], given.stride[order[i]]};
    same_order_ = same_order_ && (axes_[i].len == 1 || axes_[i].stride == own.stride[order[i]]);
  }
}

std::int64_t NormResults::offset_of(std::int64_t group) const {
  if (same_order_) return group;
  std::int64_t offset = 0;
  for (std::size_t a = 5; a-- > 0;) {
    offset += group % axes_[a].len * axes_[a].stride;
    group /= axes_[a].len;
  }
  return offset;
}

float* NormResults::result(const Arguments& arguments, Role role) const {
  const auto found = std::find(results_.begin(), results_.end(), role);
  if (found == results_.end()) return nullptr;
  return static_cast<float*>(arguments.results[static_cast<std::size_t>(found - results_.begin())]);
}

void NormResults::write_moments(const Arguments& arguments, Range range, const double* means,
                                const double* squares, float* first, float* second) const {
  const double epsilon = arguments.scalars[static_cast<std::size_t>(stages_.epsilon)];
  const double factor = arguments.scalars[static_cast<std::size_t>(stages_.average_factor)];
  const auto count = static_cast<double>(stages_.count);
  const double share = 1 / count, free_share = 1 / std::max(count - 1, 1.0);
  float* saved_mean = result(arguments, Role::saved_mean);
  float* saved_inverse = result(arguments, Role::saved_inv_variance);
  float* saved_variance = result(arguments, Role::saved_variance);
  float* running_mean = result(arguments, Role::running_mean);
  float* running_variance = result(arguments, Role::running_variance);
  const auto average = [factor](float& running, double value) {
    running = static_cast<float>((1 - factor) * running + factor * value);
  };
  for (std::int64_t g = range.first; g < range.last; ++g, ++means, ++squares) {
    const std::int64_t at = offset_of(g);
    first[g] = static_cast<float>(*means);
    second[g] = static_cast<float>(1 / std::sqrt(*squares * share + epsilon));
    if (saved_mean != nullptr) saved_mean[at] = first[g];
    if (saved_variance != nullptr) saved_variance[at] = static_cast<float>(*squares * share);
    if (saved_inverse != nullptr) saved_inverse[at] = second[g];
    if (running_mean != nullptr) average(running_mean[at], *means);
    if (running_variance != nullptr) average(running_variance[at], *squares * free_share);
  }
}

void NormResults::write_gradients(const Arguments& arguments, Range range, const double* sums,
                                  const double* products, float* first, float* second) const {
  const double share = 1 / static_cast<double>(stages_.count);
  float* bias = result(arguments, Role::bias_gradient);
  float* scale = result(arguments, Role::scale_gradient);
  for (std::int64_t g = range.first; g < range.last; ++g, ++sums, ++products) {
    const std::int64_t at = offset_of(g);
    first[g] = static_cast<float>(*sums * share);
    second[g] = static_cast<float>(*products * share);
    if (bias != nullptr) bias[at] = static_cast<float>(*sums);
    if (scale != nullptr) scale[at] = static_cast<float>(*products);
  }
}

SecondPass::SecondPass(const Arguments& arguments, const NormStages& stages, const float* first,
                       const float* second)
    : arguments_(arguments) {
  auto& list = stages.per_channel ? arguments_.channels : arguments_.elements;
  list = replaced(list, operands_);
  const float* values[] = {first, second};
  for (std::size_t i = 0; i < 2; ++i)
    if (stages.computed[i] >= 0)
      operands_[static_cast<std::size_t>(stages.computed[i])] = values[i];
}

}  // namespace fuseplan::cpu
