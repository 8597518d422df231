// SPDX-License-Identifier: MIT
#include "kernels/gpu/group_layout.hpp"

#include <algorithm>

#include "kernels/cpu/geometry.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::View;
using Axis = GroupLayout::Axis;

/// Where the values of the caller's statistics lie; those of rank 1 have one for each channel.
View view_of_statistics(const NormStages& stages) {
  View view = cpu::view_of(stages.statistics);
  if (stages.params.rank() != 1) return cpu::view_of(stages.params);
  view.stride[1] = stages.params.strides[0];
  return view;
}

bool reads_channels(const SplitChain& chain) {
  return !chain.channels.roots.empty() ||
         std::ranges::any_of(chain.sums,
                             [](const SplitChain& sums) { return !sums.channels.roots.empty(); });
}

bool continues(const Axis& outer, const Axis& inner) {
  for (std::size_t t = 0; t < inner.stride.size(); ++t)
    if (outer.stride[t] != inner.stride[t] * inner.len) return false;
  return true;
}

/// Sorted by the input's strides, joined where possible, at least one.
void arrange(std::vector<Axis>& axes, std::size_t tensors) {
  std::ranges::stable_sort(axes, {}, [](const Axis& axis) { return axis.stride[0]; });
  for (std::size_t i = 1; i < axes.size();) {
    if (!continues(axes[i], axes[i - 1])) {
      ++i;
      continue;
    }
    axes[i - 1].len *= axes[i].len;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (axes.empty()) axes.push_back({1, std::vector<std::int64_t>(tensors, 0)});
}

std::int64_t count_of(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.len;
  return product;
}

}  // namespace

GroupLayout::GroupLayout(const Problem& problem, const SplitChain& chain,
                         const NormStages& stages) {
  std::vector<View> views{cpu::view_of(problem.input()), cpu::view_of(problem.output())};
  dtypes = {problem.input().dtype, problem.output().dtype};
  for (const Operand& element : chain.elements) {
    views.push_back(cpu::broadcast_view(element.tensor, problem.output()));
    dtypes.push_back(element.tensor.dtype);
  }
  const View statistics_view = view_of_statistics(stages);
  views.push_back(statistics_view);
  View numbers;
  numbers.stride[1] = reads_channels(chain) ? 1 : 0;
  views.push_back(numbers);
  for (std::size_t a = 0; a < 5; ++a) {
    if (views.front().len[a] == 1) continue;
    Axis axis{views.front().len[a], {}};
    for (const View& view : views) axis.stride.push_back(view.stride[a]);
    const bool of_groups = statistics_view.len[a] > 1;
    if (!of_groups) axis.stride[dtypes.size()] = axis.stride[dtypes.size() + 1] = 0;
    (of_groups ? groups : members).push_back(std::move(axis));
  }
  arrange(groups, views.size());
  arrange(members, views.size());
  const bool one_member = members.front().len == 1, one_group = groups.front().len == 1;
  along =
      one_member || (!one_group && groups.front().stride[kInput] < members.front().stride[kInput]);

  bool all_real = true, plain = true;
  for (std::size_t t = 0; t < dtypes.size(); ++t) {
    const std::int64_t stride = lanes().stride[t];
    adjacent.push_back(stride == 1);
    plain = plain && (stride == 0 || stride == 1);
    if (adjacent[t]) all_real = all_real && dtypes[t] == DType::f32;
  }
  if (adjacent[kInput] && adjacent[kOutput] && plain) wide = all_real ? 4 : 8;
}

std::int64_t GroupLayout::group_count() const { return count_of(groups); }
std::int64_t GroupLayout::member_count() const { return count_of(members); }

bool GroupLayout::divides() const {
  if (wide == 1 || lanes().len % wide != 0) return false;
  for (const auto* axes : {&groups, &members})
    for (const Axis& axis : *axes)
      for (std::size_t t = 0; t < dtypes.size(); ++t)
        if (&axis != &lanes() && adjacent[t] && axis.stride[t] % wide != 0) return false;
  return true;
}

void GroupLayout::put_strides(const std::vector<Axis>& axes, std::size_t tensors,
                              std::int64_t lanes, ArgumentBlock& block) const {
  for (const Axis& axis : axes)
    for (std::size_t t = 0; t < tensors; ++t)
      block.put(axis.stride[t] * (&axis == &this->lanes() ? lanes : 1));
}

void GroupLayout::put_lengths(const std::vector<Axis>& axes, std::int64_t lanes,
                              ArgumentBlock& block) const {
  for (const Axis& axis : axes)
    block.put(Divisor(axis.len / (&axis == &this->lanes() ? lanes : 1)));
}

}  // namespace fuseplan::gpu
