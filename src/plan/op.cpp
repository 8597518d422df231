// SPDX-License-Identifier: MIT
#include "plan/op.hpp"

#include <fmt/format.h>

#include "base/status.hpp"

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

// Parameter tensors hold one value per channel: 1 x C x 1..., or just C.
void require_per_channel(const Tensor& params, const Tensor& input, std::string_view what) {
  validate(params, what);
  require_real(params, what);
  Dims expected(input.lens.size(), 1);
  expected[1] = input.lens[1];
  const bool flat = params.rank() == 1 && params.lens[0] == input.lens[1];
  require(flat || params.lens == expected, Status::BadParm,
          "{} is {}, expected {} (one value per channel)", what, dims_text(params.lens),
          dims_text(expected));
}

void require_broadcastable(const Tensor& other, const Tensor& input, std::string_view what) {
  validate(other, what);
  require_storage(other, what);
  bool fits = other.rank() == input.rank();
  for (int axis = 0; fits && axis < input.rank(); ++axis)
    fits = other.lens[axis] == 1 || other.lens[axis] == input.lens[axis];
  require(fits, Status::BadParm, "{} is {}, expected {} with any length replaced by 1", what,
          dims_text(other.lens), dims_text(input.lens));
}

struct OutputOf {
  const Tensor& input;

  Tensor operator()(const ConvOp& op) const { return conv_output(op.conv, input, op.weights); }
  Tensor operator()(const BiasOp& op) const {
    require_per_channel(op.bias, input, "bias");
    return derived();
  }
  Tensor operator()(const NormOp& op) const {
    if (op.mode == NormMode::spatial) {
      require_per_channel(op.params, input, "spatial batch normalisation parameters");
      return derived();
    }
    require(op.mode == NormMode::per_activation, Status::BadParm,
            "batch normalisation mode {} is neither per activation (0) nor spatial (1)",
            static_cast<int>(op.mode));
    Dims expected = input.lens;
    expected[0] = 1;
    validate(op.params, "per-activation batch normalisation parameters");
    require_real(op.params, "per-activation batch normalisation parameters");
    require(op.params.lens == expected, Status::BadParm,
            "per-activation batch normalisation parameters are {}, expected {}",
            dims_text(op.params.lens), dims_text(expected));
    return derived();
  }
  Tensor operator()(const ActivationOp& op) const {
    require(name_of(op.mode) != nullptr, Status::BadParm, "{} is no activation mode",
            static_cast<int>(op.mode));
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
  constexpr const char* kNames[] = {"conv", "bias", "norm", "activation", "add", "scale_shift"};
  static_assert(std::size(kNames) == std::variant_size_v<OpBody>);
  return kNames[body.index()];
}

Tensor op_output(const OpBody& op, const Tensor& input) {
  validate(input, "input");
  require_storage(input, "input");
  require(input.rank() >= 2, Status::BadParm,
          "input has rank {}, expected N x C and 0 to 3 spatial dimensions", input.rank());
  return std::visit(OutputOf{input}, op);
}

}  // namespace fuseplan
