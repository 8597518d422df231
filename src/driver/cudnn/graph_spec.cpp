// SPDX-License-Identifier: MIT
#include "driver/cudnn/graph_spec.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "driver/cudnn/graph_activation.hpp"

namespace fuseplan::driver {
namespace {

bool is_per_channel(const OpSpec& op) {
  return op.kind == OpKind::bias || op.kind == OpKind::norm || op.kind == OpKind::scale_shift;
}

class Builder {
 public:
  Builder(const ProblemSpec& problem, const GraphForm& form)
      : problem_(problem), form_(form), end_(std::min(form.end, problem.ops.size())) {
    check_form();
  }

  GraphSpec build() {
    const bool whole = form_.first == 0;
    value_ =
        add({GraphRole::input,
             whole ? problem_.input : result_of(problem_.input.type, problem_.output_lens()), 0});
    for (std::size_t i = form_.first; i < end_;) i = append(i);
    if (graph_.nodes.empty()) pointwise(CudnnPointwise::identity);
    // What the last node wrote is the result.
    GraphTensor& last = graph_.tensors[value_];
    last.role = GraphRole::output;
    last.spec = end_ == problem_.ops.size()
                    ? problem_.result()
                    : result_of(computed_type(problem_.input.type), last.spec.lens);
    return std::move(graph_);
  }

 private:
  void check_form() const {
    const std::size_t rank = problem_.input.rank();
    if (rank != 4 && rank != 5)
      throw std::invalid_argument("cuDNN's graph is asked for tensors of 4 or 5 axes");
    if (is_integer(problem_.input.type) || size_of(problem_.input.type) > 4)
      throw std::invalid_argument("cuDNN's graph is asked for f32, f16 and bf16 only");
  }

  TensorSpec result_of(fuseplanDataType_t type, const Dims& lens) const {
    return packed(type, lens, is_channels_last(problem_.input));
  }

  std::size_t add(GraphTensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return graph_.tensors.size() - 1;
  }
  std::size_t inside(const Dims& lens) {
    return add({GraphRole::inside, result_of(fuseplanFloat, lens), 0});
  }
  const Dims& lens() const { return graph_.tensors[value_].spec.lens; }

  GraphNode& node(std::optional<std::size_t> b, const Dims& result) {
    GraphNode& node = graph_.nodes.emplace_back();
    node.x = value_;
    node.b = b;
    node.y = value_ = inside(result);
    return node;
  }
  GraphNode& pointwise(CudnnPointwise mode, std::optional<std::size_t> b = {}) {
    GraphNode& added = node(b, Dims(lens()));
    added.mode = mode;
    return added;
  }

  /// Returns the op to go on with.
  std::size_t append(std::size_t i) {
    const OpSpec& op = problem_.ops[i];
    if (is_per_channel(op)) return append_affine(i);
    switch (op.kind) {
      case OpKind::conv:
        append_conv(i);
        break;
      case OpKind::activation:
        append_activation(op);
        break;
      case OpKind::add:
        pointwise(CudnnPointwise::add, add({GraphRole::other, op.tensor, i}));
        break;
      default:
        throw std::invalid_argument(std::string("cuDNN's graph is not asked for ") +
                                    name_of(op.kind));
    }
    return i + 1;
  }

  void append_conv(std::size_t i) {
    const std::size_t weights = add({GraphRole::weights, problem_.ops[i].tensor, i});
    node(weights, problem_.output_lens()).conv = &problem_.ops[i];
  }

  std::size_t append_affine(std::size_t i) {
    const bool behind_conv = i > 0 && problem_.ops[i - 1].kind == OpKind::conv;
    ChannelAffine affine;
    bool factor = false;
    Dims channel(lens().size(), 1);
    channel[1] = lens()[1];
    for (; i < end_ && is_per_channel(problem_.ops[i]); ++i) {
      if (problem_.ops[i].tensor.lens != channel)
        throw std::invalid_argument("cuDNN's graph is asked for parameters of channels only");
      affine.ops.push_back(i);
      factor = factor || problem_.ops[i].kind != OpKind::bias;
    }
    factor = factor && !(form_.folded && behind_conv);
    const bool term_of_conv = !factor && behind_conv && form_.first == 0;
    const TensorSpec form =
        packed(term_of_conv ? problem_.input.type : form_.parameters, channel, true);
    const std::size_t number = graph_.affines.size();
    graph_.affines.push_back(std::move(affine));
    if (factor) pointwise(CudnnPointwise::mul, add({GraphRole::scale, form, number}));
    pointwise(CudnnPointwise::add, add({GraphRole::shift, form, number}));
    return i;
  }

  void append_activation(const OpSpec& op) {
    const std::size_t read = value_;
    for (const ActivationNode& step : activation_nodes(op))
      pointwise(step.mode, step.times_input ? std::optional(read) : std::nullopt).parameters =
          step.parameters;
  }

  const ProblemSpec& problem_;
  const GraphForm& form_;
  std::size_t end_;
  GraphSpec graph_;
  std::size_t value_ = 0;
};

}  // namespace

GraphSpec graph_of(const ProblemSpec& problem, const GraphForm& form) {
  return Builder(problem, form).build();
}

}  // namespace fuseplan::driver
