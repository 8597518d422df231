// SPDX-License-Identifier: MIT
#include "plan/op.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.hpp"
#include "plan/overlap.hpp"
#include "plan/spelled.hpp"

namespace fuseplan {
namespace {

constexpr ActivationInfo kActivations[] = {
#define FUSEPLAN_ACTIVATION(name, value, text) {Activation::name, text},
#include "plan/activations.def"
#undef FUSEPLAN_ACTIVATION
};

void require_real(const Tensor& tensor, std::string_view what) {
  require(is_real(tensor.dtype), Status::BadParm, "{} is {}, expected f32, f16 or bf16", what,
          name_of(tensor.dtype));
}

void require_channels(const Tensor& value, std::string_view what) {
  require(value.rank() >= 2, Status::BadParm,
          "{} has rank {}, expected N x C and 0 to 3 spatial dimensions", what, value.rank());
}

// 1 x C x 1... (spatial) or 1 x C x [D x] H x W (per activation).
Dims parameter_lens(NormMode mode, const Tensor& value) {
  Dims lens = value.lens;
  lens[0] = 1;
  if (mode == NormMode::spatial) std::fill(lens.begin() + 2, lens.end(), 1);
  return lens;
}

// Parameter tensors hold one value per channel: 1 x C x 1..., or just C.
void require_per_channel(const Tensor& params, const Tensor& input, std::string_view what) {
  validate(params, what);
  require_real(params, what);
  const Dims expected = parameter_lens(NormMode::spatial, input);
  const bool flat = params.rank() == 1 && params.lens[0] == input.lens[1];
  require(flat || params.lens == expected, Status::BadParm,
          "{} is {}, expected {} (one value per channel)", what, Spelled{params.lens},
          Spelled{expected});
}

void require_broadcastable(const Tensor& other, const Tensor& input, std::string_view what) {
  validate(other, what);
  require_storage(other, what);
  bool fits = other.rank() == input.rank();
  for (int axis = 0; fits && axis < input.rank(); ++axis)
    fits = other.lens[axis] == 1 || other.lens[axis] == input.lens[axis];
  require(fits, Status::BadParm, "{} is {}, expected {} with any length replaced by 1", what,
          Spelled{other.lens}, Spelled{input.lens});
}

void require_norm(NormMode mode, const Tensor& params, const Tensor& input) {
  if (mode == NormMode::spatial)
    return require_per_channel(params, input, "spatial batch normalisation parameters");
  require(mode == NormMode::per_activation, Status::BadParm,
          "batch normalisation mode {} is neither per activation (0) nor spatial (1)",
          static_cast<int>(mode));
  const Dims expected = parameter_lens(mode, input);
  validate(params, "per-activation batch normalisation parameters");
  require_real(params, "per-activation batch normalisation parameters");
  require(params.lens == expected, Status::BadParm,
          "per-activation batch normalisation parameters are {}, expected {}", Spelled{params.lens},
          Spelled{expected});
}

// What is written must not share memory with itself, and is f32 whatever the data.
void require_written(const Tensor& params, std::string_view what) {
  require(params.dtype == DType::f32, Status::BadParm, "{} is {}, expected f32", what,
          name_of(params.dtype));
  require(!may_overlap(params), Status::BadParm,
          "{} is {} with strides {}, which has elements that share memory", what,
          Spelled{params.lens}, Spelled{params.strides, ','});
}

void require_training(NormMode mode, const Tensor& params, const Tensor& input) {
  require_norm(mode, params, input);
  require_written(params,
                  "tensor of parameters and statistics of batch normalisation for training");
}

void require_mode(Activation mode) {
  require(name_of(mode) != nullptr, Status::BadParm, "{} is no activation mode",
          static_cast<int>(mode));
}

// x of a backward op, where dy is what the op reads.
void require_source(const Tensor& source, const Tensor& input) {
  validate(source, "x");
  require_real(source, "x");
  require(source.lens == input.lens, Status::BadParm, "x is {}, expected {} as dy",
          Spelled{source.lens}, Spelled{input.lens});
}

struct OutputOf {
  const Tensor& input;

  Tensor operator()(const ConvOp& op) const { return conv_output(op.conv, input, op.weights); }
  Tensor operator()(const BiasOp& op) const {
    require_per_channel(op.bias, input, "bias");
    return derived();
  }
  Tensor operator()(const NormOp& op) const {
    require_norm(op.mode, op.params, input);
    return derived();
  }
  Tensor operator()(const ActivationOp& op) const {
    require_mode(op.mode);
    return derived();
  }
  Tensor operator()(const AddOp& op) const {
    require_broadcastable(op.other, input, "added tensor");
    return derived();
  }
  Tensor operator()(const ScaleShiftOp& op) const {
    require_per_channel(op.params, input, "scale and shift");
    return derived();
  }

  Tensor operator()(const NormTrainingOp& op) const {
    require_real(input, "input of batch normalisation for training");
    require_training(op.mode, op.params, input);
    return derived();
  }
  Tensor operator()(const ActivationBackwardOp& op) const {
    require_mode(op.mode);
    require_source(op.source, input);
    return derived();
  }
  Tensor operator()(const NormBackwardOp& op) const {
    require_real(input, "dy");
    require_training(op.mode, op.params, input);
    require_source(op.source, input);
    return derived();
  }

  Tensor operator()(const StatisticsOp& op) const {
    require_per_channel(op.params, input, "tensor of statistics");
    require_written(op.params, "tensor of statistics");
    return derived();
  }

  Tensor derived() const { return computed(with_lens(input, input.lens)); }
};

}  // namespace

std::span<const ActivationInfo> all_activations() { return kActivations; }

const char* name_of(Activation mode) {
  for (const ActivationInfo& info : kActivations)
    if (info.mode == mode) return info.text;
  return nullptr;
}

std::optional<Activation> parse_activation(std::string_view text) {
  for (const ActivationInfo& info : kActivations)
    if (info.text == text) return info.mode;
  return std::nullopt;
}

const char* kind_of(const OpBody& body) {
  constexpr const char* kNames[] = {
      "conv",          "bias",        "norm",          "activation",
      "add",           "scale_shift", "norm_training", "activation_backward",
      "norm_backward", "statistics"};
  static_assert(std::size(kNames) == std::variant_size_v<OpBody>);
  return kNames[body.index()];
}

bool is_batch_op(const OpBody& body) {
  return std::holds_alternative<NormTrainingOp>(body) ||
         std::holds_alternative<NormBackwardOp>(body) || std::holds_alternative<StatisticsOp>(body);
}

void require_place(const OpBody& op, std::span<const OpBody> before) {
  const char* kind = kind_of(op);
  const std::size_t place = before.size();
  const bool has_conv = place > 0 && std::holds_alternative<ConvOp>(before.front());
  require(place == 0 || !std::holds_alternative<ConvOp>(op), Status::UnsupportedOp,
          "op {} is a convolution; a plan can hold one, as its first op", place);
  for (const OpBody& other : before)
    require(!std::holds_alternative<NormBackwardOp>(other) &&
                !std::holds_alternative<StatisticsOp>(other),
            Status::UnsupportedOp,
            "op {} is {}, behind {}, which can only be the last op of a plan", place, kind,
            kind_of(other));
  if (!is_batch_op(op)) return;
  for (const OpBody& other : before)
    require(!is_batch_op(other), Status::UnsupportedOp,
            "op {} is {}, but the plan has {} already, and a plan can sum over the batch once only",
            place, kind, kind_of(other));
  const bool training = std::holds_alternative<NormTrainingOp>(op);
  require(!training || !has_conv, Status::UnsupportedOp,
          "op {} is {} behind a convolution, whose output training needs again for the gradients: "
          "end the convolution's plan with statistics, and normalise its output in a plan of its "
          "own",
          place, kind);
  require(!training || place == 0, Status::UnsupportedOp,
          "op {} is {}, which can only be the first op of a plan", place, kind);
  require(!has_conv || std::holds_alternative<StatisticsOp>(op), Status::UnsupportedOp,
          "op {} is {} behind a convolution; a plan that ends with it has pointwise ops in front",
          place, kind);
}

Tensor norm_parameters(NormMode mode, const Tensor& value) {
  require_channels(value, "x");
  Tensor parameters = with_lens(value, parameter_lens(mode, value));
  parameters.dtype = DType::f32;
  return parameters;
}

Tensor op_output(const OpBody& op, const Tensor& input) {
  validate(input, "input");
  require_storage(input, "input");
  require_channels(input, "input");
  return std::visit(OutputOf{input}, op);
}

}  // namespace fuseplan
