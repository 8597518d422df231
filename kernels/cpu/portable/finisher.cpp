// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/finisher.hpp"

#include <algorithm>
#include <memory>

namespace fuseplan::cpu {
namespace {

constexpr std::size_t kBlock = ChainInterpreter<float>::kBlock;

const void* at(DType dtype, const void* data, std::int64_t offset) {
  return static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(size_of(dtype));
}

// Axis a runs through memory as the outer part of axis a + 1.
bool joinable(const View& view, std::size_t a) {
  return view.len[a] == 1 || view.len[a + 1] == 1 ||
         view.stride[a] == view.len[a + 1] * view.stride[a + 1];
}

void join(View& view, std::size_t a) {
  if (view.len[a + 1] == 1) view.stride[a + 1] = view.stride[a];
  view.len[a + 1] *= view.len[a];
  view.len[a] = 1;
  view.stride[a] = 0;
}

}  // namespace

std::int64_t offset_in(const View& view, const std::array<std::int64_t, 5>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 5; ++axis) offset += index[axis] * view.stride[axis];
  return offset;
}

Finisher::Finisher(const Problem& problem, const SplitChain& chain)
    : input_dtype_(problem.input().dtype),
      output_dtype_(problem.output().dtype),
      output_(view_of(problem.output())),
      has_input_(problem.conv() == nullptr),
      uniform_roots_(chain.uniforms.roots.size()),
      channel_roots_(chain.channels.roots.size()),
      uniforms_(chain.uniforms),
      channels_(chain.channels),
      body_(chain.body) {
  if (has_input_) input_ = view_of(problem.input());
  for (const fuseplan::Operand& element : chain.elements)
    elements_.push_back({element.tensor.dtype, broadcast_view(element.tensor, problem.output())});
  for (const fuseplan::Operand& channel : chain.channels_in) channels_in_.push_back(channel.tensor);
}

void Finisher::join_axes(std::vector<View*> extra) {
  std::vector<View*> views = std::move(extra);
  views.push_back(&output_);
  if (has_input_) views.push_back(&input_);
  for (Operand& element : elements_) views.push_back(&element.view);
  for (std::size_t a = 0; a < 4; ++a) {
    const bool touches_channels = a == 0 || a == 1;
    if (touches_channels && (channel_roots_ > 0 || !has_input_)) continue;
    if (std::all_of(views.begin(), views.end(), [a](const View* v) { return joinable(*v, a); }))
      for (View* view : views) join(*view, a);
  }
}

void Finisher::launch_uniforms(const Arguments& arguments, float* uniforms,
                               Scratch& scratch) const {
  ChainInterpreter<double>::Frame frame(uniforms_, scratch);
  for (std::size_t i = 0; i < uniforms_.leaves().size(); ++i)
    frame.bind(i, &arguments.scalars[static_cast<std::size_t>(uniforms_.leaves()[i].index)]);
  frame.run(1);
  for (std::size_t r = 0; r < uniform_roots_; ++r) uniforms[r] = static_cast<float>(*frame.root(r));
}

// In double, so that folding parameters into one multiply-add costs one rounding of each factor.
void Finisher::launch_channels(const Arguments& arguments, const float* uniforms, float* channels,
                               Scratch& scratch) const {
  const auto leaves = channels_.leaves();
  ChainInterpreter<double>::Frame frame(channels_, scratch);
  double* blocks = scratch.take_array<double>(leaves.size() * kBlock + 1);
  float* raw = scratch.take_array<float>(kBlock);
  const auto total = static_cast<std::size_t>(output_.len[1]);
  for (std::size_t first = 0; first < total; first += kBlock) {
    const std::size_t count = std::min(kBlock, total - first);
    const BlockShape shape{1, static_cast<int>(count), static_cast<int>(count)};
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto index = static_cast<std::size_t>(leaves[i].index);
      double* block = blocks + i * kBlock;
      if (leaves[i].leaf == Leaf::scalar) {
        std::fill_n(block, count, double{uniforms[index]});
      } else {
        const Tensor& tensor = channels_in_[index];
        const std::int64_t step = tensor.strides[tensor.rank() == 1 ? 0 : 1];
        const auto offset = static_cast<std::int64_t>(first) * step;
        load_block(tensor.dtype, at(tensor.dtype, arguments.channels[index], offset), {0, step},
                   shape, raw);
        std::copy_n(raw, count, block);
      }
      frame.bind(i, block);
    }
    frame.run(count);
    for (std::size_t r = 0; r < channel_roots_; ++r)
      std::transform(frame.root(r), frame.root(r) + count, channels + r * total + first,
                     [](double value) { return static_cast<float>(value); });
  }
}

Finisher::Launch Finisher::launch(const Arguments& arguments, Scratch& scratch) const {
  const std::int64_t count = output_.len[1];
  float* uniforms = scratch.take_array<float>(uniform_roots_ + 1);
  float* channels = scratch.take_array<float>(channel_roots_ * static_cast<std::size_t>(count) + 1);
  Scratch temporary;
  launch_uniforms(arguments, uniforms, temporary);
  if (channel_roots_ > 0) launch_channels(arguments, uniforms, channels, temporary);
  return {arguments, uniforms, channels, count};
}

Finisher::Worker::Worker(const Finisher& finisher, const Launch& launch, Scratch& scratch)
    : finisher_(finisher), launch_(launch), frame_(finisher.body_, scratch) {
  const std::size_t leaves = finisher.body_.leaves().size();
  blocks_ = scratch.take_array<float>(leaves * kBlock + 1);
  loaded_ = scratch.take_array<std::optional<Loaded>>(leaves + 1);
  std::uninitialized_fill_n(loaded_, leaves, std::nullopt);
}

Finisher::Worker::Source Finisher::Worker::tensor_source(DType dtype, const View& view,
                                                         const void* data,
                                                         const BlockPlace& place) const {
  return {dtype,
          at(dtype, data, offset_in(view, place.index)),
          {view.stride[place.row_axis], view.stride[place.lane_axis]}};
}

Finisher::Worker::Source Finisher::Worker::source_of(const ChainInterpreter<float>::LeafId& leaf,
                                                     const BlockPlace& place) const {
  const auto index = static_cast<std::size_t>(leaf.index);
  const Arguments& arguments = launch_.arguments;
  switch (leaf.leaf) {
    case Leaf::input:
      return tensor_source(finisher_.input_dtype_, finisher_.input_, arguments.input, place);
    case Leaf::previous:
      return tensor_source(finisher_.output_dtype_, finisher_.output_, arguments.output, place);
    case Leaf::element: {
      const Operand& element = finisher_.elements_[index];
      return tensor_source(element.dtype, element.view, arguments.elements[index], place);
    }
    case Leaf::channel:
      return {DType::f32,
              launch_.channels + leaf.index * launch_.channel_count + place.index[1],
              {place.row_axis == 1, place.lane_axis == 1}};
    default:
      return {DType::f32, launch_.uniforms + index, {0, 0}};
  }
}

void Finisher::Worker::evaluate(const BlockPlace& place, const float* input) {
  const auto leaves = finisher_.body_.leaves();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].leaf == Leaf::input && input != nullptr) {
      frame_.bind(i, input);
      continue;
    }
    const Source source = source_of(leaves[i], place);
    if (is_dense(source.dtype, source.steps, place.shape)) {
      frame_.bind(i, static_cast<const float*>(source.data));
      loaded_[i].reset();
      continue;
    }
    // Tensors may be written between blocks (by this chain, in place); launch values never are.
    const bool constant = leaves[i].leaf == Leaf::channel || leaves[i].leaf == Leaf::scalar;
    const Loaded wanted{source, place.shape};
    if (constant && loaded_[i] == wanted) continue;
    float* block = blocks_ + i * kBlock;
    load_block(source.dtype, source.data, source.steps, place.shape, block);
    frame_.bind(i, block);
    loaded_[i] = wanted;
  }
  frame_.run(place.shape.count());
}

void Finisher::Worker::finish(const BlockPlace& place, const float* input) {
  evaluate(place, input);
  const Source target =
      tensor_source(finisher_.output_dtype_, finisher_.output_, launch_.arguments.output, place);
  store_block(target.dtype, const_cast<void*>(target.data), target.steps, place.shape,
              frame_.root(0));
}

}  // namespace fuseplan::cpu
