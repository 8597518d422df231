// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "plan/conv.hpp"
#include "plan/tensor.hpp"

namespace fuseplan {

enum class Activation : int {
#define FUSEPLAN_ACTIVATION(name, value, text) name = value,
#include "plan/activations.def"
#undef FUSEPLAN_ACTIVATION
};
struct ActivationInfo {
  Activation mode;
  const char* text;
};
std::span<const ActivationInfo> all_activations();
const char* name_of(Activation mode);
std::optional<Activation> parse_activation(std::string_view text);

enum class NormMode : int { per_activation = 0, spatial = 1 };

// The operations a plan is made of. Each holds what is fixed when it is appended; pointers and
// scalars come with every Execute.
struct ConvOp {
  Conv conv;
  Tensor weights;
  bool operator==(const ConvOp&) const = default;
};
struct BiasOp {  ///< y = x + bias[k]; the tensor is 1 x C x 1...
  Tensor bias;
  bool operator==(const BiasOp&) const = default;
};
struct NormOp {  ///< batch normalisation, inference: scale * (x - mean) / sqrt(var + eps) + bias
  NormMode mode;
  Tensor params;  ///< 1 x C x 1... (spatial) or 1 x C x [D x] H x W (per activation)
  bool operator==(const NormOp&) const = default;
};
struct ActivationOp {
  Activation mode;
  bool operator==(const ActivationOp&) const = default;
};
struct AddOp {  ///< y = x + scale * other; every length of `other` is 1 or x's
  Tensor other;
  bool operator==(const AddOp&) const = default;
};
struct ScaleShiftOp {  ///< y = scale[k] * x + shift[k]
  Tensor params;       ///< 1 x C x 1...
  bool operator==(const ScaleShiftOp&) const = default;
};

// Operations of training. Formulas: include/fuseplan/plan.h.
struct NormTrainingOp {  ///< batch normalisation with the batch's own mean and variance
  NormMode mode;
  Tensor params;         ///< scale, bias and every result, in f32; lengths as NormOp's
  bool running = false;  ///< the running mean and variance must be given
  bool operator==(const NormTrainingOp&) const = default;
};
struct ActivationBackwardOp {  ///< dx = dy * act'(x)
  Activation mode;
  /// What the activation read forward. Not read in front of NormBackwardOp, which recomputes it.
  Tensor source;
  bool operator==(const ActivationBackwardOp&) const = default;
};
struct NormBackwardOp {  ///< gradients of NormTrainingOp's input, scale and bias
  NormMode mode;
  Tensor params;  ///< as NormTrainingOp's
  Tensor source;  ///< what NormTrainingOp read forward
  bool operator==(const NormBackwardOp&) const = default;
};

struct StatisticsOp {  ///< y = x; mean and variance of each channel of what is stored
  Tensor params;       ///< of every result, in f32: 1 x C x 1...
  bool operator==(const StatisticsOp&) const = default;
};

using OpBody = std::variant<ConvOp, BiasOp, NormOp, ActivationOp, AddOp, ScaleShiftOp,
                            NormTrainingOp, ActivationBackwardOp, NormBackwardOp, StatisticsOp>;

/// Which of an op's blending scalars differ from their defaults (alpha 1, beta 0). Kernels are
/// specialised for it, so that plans that do not blend pay nothing.
struct Blend {
  bool alpha = false;  ///< the op's result is multiplied by alpha
  bool beta = false;   ///< last op only: beta * previous output is added
  bool operator==(const Blend&) const = default;
};

struct Op {
  OpBody body;
  Blend blend;
  bool operator==(const Op&) const = default;
};

/// "conv", "bias", "norm", "activation", "add", "scale_shift", "norm_training",
/// "activation_backward", "norm_backward", "statistics".
const char* kind_of(const OpBody& body);

/// Whether the op takes sums over the whole batch.
bool is_batch_op(const OpBody& body);

/// Throws Error(UnsupportedOp) with a sentence if `op` cannot stand behind `before`.
void require_place(const OpBody& op, std::span<const OpBody> before);

/// What describes each parameter of a batch normalisation of `value`: f32, packed in its layout.
/// Throws Error(BadParm) for a value without channels.
Tensor norm_parameters(NormMode mode, const Tensor& value);

/// Output of `op` over `input`: checks shapes and types. Throws Error(BadParm) with what was given
/// and what was expected.
Tensor op_output(const OpBody& op, const Tensor& input);

}  // namespace fuseplan
