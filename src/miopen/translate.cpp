// SPDX-License-Identifier: MIT
#include <algorithm>

#include "miopen/activation.hpp"
#include "miopen/norm.hpp"
#include "miopen/plan.hpp"

namespace fuseplan::miopen {
namespace {

template <typename... Arguments>
void need(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  require(condition, miopenStatusUnsupportedOp, format, std::forward<Arguments>(arguments)...);
}

/// Walks the ops with the value that the next one reads.
class Translator {
 public:
  Translator(const Shape& input, const std::vector<OpRequest>& ops) : value_(input), ops_(ops) {
    result_.chain.input = input;
    biases_ = std::ranges::count(ops, FusionOp::bias, &OpRequest::kind);
    residuals_ = 0;
  }

  Translation run() {
    if (ops_.front().kind == FusionOp::norm_backward ||
        ops_.front().kind == FusionOp::activation_backward) {
      backward();
    } else {
      for (index_ = 0; index_ < static_cast<int>(ops_.size()); ++index_) append(ops_[index()]);
    }
    result_.chain.output = value_;
    return std::move(result_);
  }

 private:
  std::size_t index() const { return static_cast<std::size_t>(index_); }

  void step(OpKind kind, std::string text) {
    result_.chain.ops.push_back(std::move(text));
    result_.kinds.push_back(kind);
    result_.sources.push_back({index_, ops_[index()].kind});
  }

  void append(const OpRequest& op) {
    switch (op.kind) {
      case FusionOp::conv:
        return convolution(op);
      case FusionOp::bias:
        return bias(op);
      case FusionOp::activation:
        return step(OpKind::activation, fmt::format("activation({})", activation_text(op.mode)));
      case FusionOp::norm_inference:
        return norm(op);
      case FusionOp::norm_forward:
        return norm_forward(op);
      case FusionOp::activation_backward:
      case FusionOp::norm_backward:
        fail(miopenStatusUnsupportedOp, "op {} ({}) follows a forward op", index_,
             name_of(op.kind));
    }
  }

  void convolution(const OpRequest& op) {
    need(index_ == 0, "op {} is a convolution; a plan can hold one, as its first op", index_);
    op.convolution.check_operands(value_, op.tensor);
    step(OpKind::conv, op.convolution.op_text(op.tensor));
    value_ = op.convolution.output(value_, op.tensor);
  }

  // One bias is per channel whatever its descriptor says. Several are told apart by their lengths,
  // and must be unmistakable: taking a residual for a bias would be silently wrong.
  void bias(const OpRequest& op) {
    const std::size_t channels = value_.rank() >= 2 ? value_.lens[1] : 0;
    need(channels != 0, "op {} is a bias over a value of rank {}", index_, value_.rank());
    const Shape per_channel = channel_vector(op.tensor.type, channels, value_.rank());
    if (biases_ == 1 || op.tensor.lens == per_channel.lens)
      return step(OpKind::bias, fmt::format("bias({})", text_of(per_channel)));
    need(op.tensor.lens == value_.lens,
         "op {} is one of {} bias ops, with {} values: neither one for each channel nor one for "
         "each element of the value it is added to",
         index_, biases_, op.tensor.elements());
    need(++residuals_ == 1,
         "op {} is the second bias op with a value for each element; which of them is per channel "
         "cannot be told",
         index_);
    step(OpKind::add, fmt::format("add({})", text_of(op.tensor)));
  }

  /// What miopenDeriveBNTensorDescriptor makes for the value.
  Shape norm_parameters(int mode) const {
    need(value_.rank() >= 2, "op {} normalises a value of rank {}", index_, value_.rank());
    need(mode == miopenBNSpatial || mode == miopenBNPerActivation,
         "op {}: {} is no batch normalisation mode", index_, mode);
    if (mode == miopenBNSpatial) return channel_vector(miopenFloat, value_.lens[1], value_.rank());
    std::vector<std::size_t> lens = value_.lens;
    lens[0] = 1;
    Shape derived = packed_like(value_, lens);
    derived.type = miopenFloat;
    return derived;
  }

  // The derived descriptor, or nothing: some programs derive it from another tensor than the
  // normalised one.
  void norm(const OpRequest& op) {
    const Shape derived = norm_parameters(op.mode);
    need(op.tensor.lens == derived.lens && op.tensor.type == derived.type,
         "op {}: the batch normalisation's descriptor is not the one that "
         "miopenDeriveBNTensorDescriptor makes for the value it normalises",
         index_);
    step(OpKind::norm, fmt::format("norm({},{})", norm_text(op.mode), text_of(op.tensor)));
  }

  void norm_forward(const OpRequest& op) {
    step(OpKind::norm_training,
         fmt::format("norm_training({},{}{})", norm_text(op.mode),
                     text_of(norm_parameters(op.mode)), op.running ? ",running" : ""));
  }

  // MIOpen names the normalisation first; the gradient passes the activation first. What the
  // forward activation read is computed again from the normalisation's arguments.
  void backward() {
    const bool normalises = ops_[0].kind == FusionOp::norm_backward;
    need(normalises && (ops_.size() == 1 ||
                        (ops_.size() == 2 && ops_[1].kind == FusionOp::activation_backward)),
         "a backward plan is batchnorm backward, then activation backward or nothing");
    const std::string x = text_of(value_);
    if (ops_.size() == 2) {
      index_ = 1;
      const BackwardMode mode = backward_mode(ops_[1].mode);
      step(OpKind::activation_backward, fmt::format("activation_backward({},{})", mode.text, x));
      result_.sources.back().scalars = mode.scalars;
    }
    index_ = 0;
    step(OpKind::norm_backward, fmt::format("norm_backward({},{},{})", norm_text(ops_[0].mode),
                                            text_of(norm_parameters(ops_[0].mode)), x));
  }

  Shape value_;
  const std::vector<OpRequest>& ops_;
  Translation result_{};
  std::ptrdiff_t biases_, residuals_;
  int index_ = 0;
};

}  // namespace

const char* name_of(FusionOp kind) {
  constexpr const char* kNames[] = {"convolution",         "bias",
                                    "activation",          "activation backward",
                                    "batchnorm inference", "batchnorm forward training",
                                    "batchnorm backward"};
  return kNames[static_cast<std::size_t>(kind)];
}

Translation translate(miopenFusionDirection_t direction, const Shape& input,
                      const std::vector<OpRequest>& ops) {
  need(direction == miopenVerticalFusion, "only vertical fusion computes a chain");
  need(!ops.empty(), "the plan has no op");
  return Translator(input, ops).run();
}

}  // namespace fuseplan::miopen
