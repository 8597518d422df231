// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fuseplan::cpu {

namespace {

using Axis = Walk::Axis;

bool reads(const Expr& expr, Leaf leaf) {
  for (Ref i = 0; i < expr.graph.size(); ++i)
    if (expr.graph[i].leaf == leaf) return true;
  return false;
}

/// Axes longer than 1 from the outermost in the output's memory to the innermost.
std::vector<Axis> axes_of(const WalkTensors& tensors) {
  const View& output = tensors.output;
  std::vector<Axis> axes;
  for (std::size_t a = 0; a < 5; ++a) {
    if (output.len[a] == 1) continue;
    Axis axis{output.len[a],
              {tensors.input.stride[a], output.stride[a], tensors.channels.stride[a]}};
    for (const View& element : tensors.elements) axis.stride.push_back(element.stride[a]);
    axes.push_back(std::move(axis));
  }
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return a.stride[Walk::kOutput] > b.stride[Walk::kOutput];
  });
  return axes;
}

/// Whether a step along `outer` continues where `inner` ends, in tensor `t`.
bool continues(const Axis& outer, const Axis& inner, std::size_t t) {
  return outer.stride[t] == inner.stride[t] * inner.len;
}

void join(std::vector<Axis>& axes) {
  for (std::size_t i = axes.size(); i-- > 1;) {
    Axis &outer = axes[i - 1], &inner = axes[i];
    bool joined = true;
    for (std::size_t t = 0; t < outer.stride.size(); ++t) joined &= continues(outer, inner, t);
    if (!joined) continue;
    inner.len *= outer.len;
    outer = std::move(inner);
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Why `lanes` cannot be the lanes of a vector; empty if they can.
std::string lanes_refusal(const Axis& lanes) {
  if (lanes.stride[Walk::kOutput] != 1)
    return fmt::format("the output's innermost axis has stride {}, and vectors need 1",
                       lanes.stride[Walk::kOutput]);
  if (std::ranges::any_of(lanes.stride,
                          [](std::int64_t stride) { return stride > kMostLaneStride; }))
    return fmt::format("the axis that is innermost in the output has a stride above {} elsewhere",
                       kMostLaneStride);
  return {};
}

/// Where lanes are channels, several rows are joined to one: then all tensors must have lanes.
bool are_touching(const Axis& rows, const Axis& lanes, bool lanes_are_channels) {
  bool touching = rows.len > 1 && (lanes_are_channels || lanes.len >= 16);
  for (std::size_t t = 0; t < lanes.stride.size(); ++t) {
    if (t == Walk::kChannel) continue;
    if (lanes.stride[t] != 0 || lanes_are_channels)
      touching &= lanes.stride[t] == 1 && continues(rows, lanes, t);
  }
  return touching;
}

}  // namespace

std::int64_t Walk::row_count() const {
  std::int64_t count = rows.len;
  for (const Axis& axis : outer) count *= axis.len;
  return count;
}

std::int64_t Walk::bytes() const {
  std::size_t element = 0;
  for (std::size_t t = 0; t < dtypes.size(); ++t)
    if (t != kChannel && lanes.stride[t] != 0) element += size_of(dtypes[t]);
  return row_count() * lanes.len * static_cast<std::int64_t>(element);
}

std::int64_t Walk::lane_stride(std::size_t tensor) const {
  return lane_stride_of(dtypes[tensor], lanes.stride[tensor]);
}

std::vector<RowsSpec::Element> Walk::elements(std::size_t count) const {
  std::vector<RowsSpec::Element> elements;
  for (std::size_t t = kElements; t < kElements + count; ++t)
    elements.push_back({dtypes[t], lanes.stride[t] != 0, lane_stride(t)});
  return elements;
}

bool Walk::is_strided() const {
  for (std::size_t t = 0; t < dtypes.size(); ++t)
    if (t != kChannel && lane_stride(t) != 0) return true;
  return false;
}

WalkTensors walk_tensors(const Problem& problem, const SplitChain& chain) {
  WalkTensors tensors{view_of(problem.input()), view_of(problem.output()), {}, {}, {}};
  tensors.channels.len = tensors.output.len;
  if (reads(chain.body, Leaf::channel)) tensors.channels.stride[1] = 1;
  tensors.dtypes = {problem.input().dtype, problem.output().dtype, DType::f32};
  for (const Operand& operand : chain.elements) {
    tensors.elements.push_back(broadcast_view(operand.tensor, problem.output()));
    tensors.dtypes.push_back(operand.tensor.dtype);
  }
  return tensors;
}

std::vector<Axis> joined_axes(const WalkTensors& tensors) {
  std::vector<Axis> axes = axes_of(tensors);
  join(axes);
  if (axes.empty()) {  // a single element
    axes.push_back({1, std::vector<std::int64_t>(tensors.dtypes.size(), 0)});
    axes.back().stride[Walk::kInput] = axes.back().stride[Walk::kOutput] = 1;
  }
  return axes;
}
std::vector<Axis> joined_axes(const Problem& problem, const SplitChain& chain) {
  return joined_axes(walk_tensors(problem, chain));
}

std::optional<Walk> plan_walk(const Problem& problem, const SplitChain& chain,
                              std::string* reason) {
  return plan_walk(walk_tensors(problem, chain), reason);
}

std::optional<Walk> plan_walk(const WalkTensors& views, std::string* reason) {
  Walk walk;
  walk.dtypes = views.dtypes;
  walk.channels = views.output.len[1];

  std::vector<Axis> axes = joined_axes(views);
  const std::size_t tensors = walk.dtypes.size();
  walk.lanes = axes.back();
  axes.pop_back();
  const std::string refusal = lanes_refusal(walk.lanes);
  if (!refusal.empty()) {
    if (reason != nullptr) *reason = refusal;
    return std::nullopt;
  }
  walk.rows.stride.assign(tensors, 0);
  if (!axes.empty()) {
    walk.rows = axes.back();
    axes.pop_back();
  }
  walk.outer = std::move(axes);
  walk.lanes_are_channels = walk.lanes.stride[Walk::kChannel] != 0;
  walk.touching = are_touching(walk.rows, walk.lanes, walk.lanes_are_channels);
  return walk;
}

}  // namespace fuseplan::cpu
