// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "support/bounded.hpp"
#include "support/tensor.hpp"

namespace fuseplan::test {

// The oracle: every operator a plan can hold, written down from its definition, computed in double
// from the stored inputs, one step after the other. It shares no code with the library.
//
// Parameter tensors are read with broadcasting: each length is 1 or the value's own, so the same
// steps serve per-channel (1 x C x 1 x 1) and per-activation (1 x C x H x W) parameters.
// Run-time scalars are f32, as in the library; doubles passed here are rounded to f32 first.

/// Values equal fuseplanActivationMode_t, so a cast converts. Formulas: reference_activation.cpp.
enum class Mode : int {
  PASTHRU = 0,
  LOGISTIC = 1,
  TANH = 2,
  RELU = 3,
  SOFTRELU = 4,
  ABS = 5,
  POWER = 6,
  CLIPPEDRELU = 7,
  LEAKYRELU = 8,
  ELU = 9,
  CLAMP = 10,
  GELU_ERF = 64,
  GELU_TANH = 65,
  SILU = 66,
  MISH = 67,
  HARDSWISH = 68,
  HARDSIGMOID = 69,
  SOFTPLUS = 70,
  TRUNCATEDPOWER = 71,
};
inline constexpr Mode kAllModes[] = {
    Mode::PASTHRU,   Mode::LOGISTIC,    Mode::TANH,        Mode::RELU,          Mode::SOFTRELU,
    Mode::ABS,       Mode::POWER,       Mode::CLIPPEDRELU, Mode::LEAKYRELU,     Mode::ELU,
    Mode::CLAMP,     Mode::GELU_ERF,    Mode::GELU_TANH,   Mode::SILU,          Mode::MISH,
    Mode::HARDSWISH, Mode::HARDSIGMOID, Mode::SOFTPLUS,    Mode::TRUNCATEDPOWER};

/// y[n,k,p] = sum over c < C/groups and taps t of x[n, g C/groups + c, p stride - pad_lo +
/// t dilation] w[k,c,t] with g = k / (K/groups), over the taps that fall inside x. One entry per
/// spatial axis, outermost first.
struct Convolution {
  const HostTensor* weights;
  Dims stride, dilation, pad_lo, pad_hi;
  std::int64_t groups = 1;
  /// Of f32 values of x and w the multiplier sees tf32: the nearest with 11 bits of significand,
  /// halves away from zero (PTX, cvt.rna.tf32.f32) or to even (copies of tf32 tensor maps).
  enum class Tf32 { no, half_away, half_to_even } tf32 = Tf32::no;
};
/// x + bias
struct Bias {
  const HostTensor* bias;
};
/// scale (x - mean) / sqrt(variance + epsilon) + bias
struct BatchNorm {
  const HostTensor *scale, *bias, *mean, *variance;
  double epsilon;
};
struct Activation {
  Mode mode;
  double alpha = 0, beta = 0, gamma = 0;
};
/// x + scale * other
struct Add {
  const HostTensor* other;
  double scale = 1;
};
/// scale * x + shift
struct ScaleShift {
  const HostTensor *scale, *shift;
};

/// scale (x - mean) / sqrt(variance + epsilon) + bias with x's own mean and biased variance, over
/// the axes along which scale has length 1. Statistics: mean, inverse deviation, variance, unbiased
/// variance.
struct BatchNormTraining {
  const HostTensor *scale, *bias;
  double epsilon;
};
/// x times the derivative of `forward` at `source`; nullptr: at scale xhat + bias of the
/// BatchNormBackward that follows, xhat = (source - mean) inverse.
struct ActivationBackward {
  Activation forward;
  const HostTensor* source = nullptr;
};
/// scale inverse (d - sum(d) / n - xhat sum(d xhat) / n) with d what arrives. Statistics: the
/// gradients of scale, sum(d xhat), and bias, sum(d).
struct BatchNormBackward {
  const HostTensor *source, *scale, *bias, *mean, *inverse;
};

/// One operator, then alpha * result + beta * previous output (beta on the last step only).
struct Step {
  std::variant<Convolution, Bias, BatchNorm, Activation, Add, ScaleShift, BatchNormTraining,
               ActivationBackward, BatchNormBackward>
      op;
  double alpha = 1, beta = 0;
};

/// Lengths of parameters by the axes of what they belong to: 1 x C x 1 ... for rank 1 of length C.
Dims over_axes(const Dims& params, std::size_t rank);

/// The chain's result before it is stored, packed, channels first.
struct ReferenceResult {
  Dims dims;
  std::vector<Bounded> values;
  std::vector<ReferenceResult> statistics = {};  ///< of an operator that has any
};

/// `previous` is what the output held before; only read if the last beta is not 0.
/// Throws std::invalid_argument for shapes that do not fit.
ReferenceResult run_reference(const HostTensor& input, std::span<const Step> steps,
                              const HostTensor* previous = nullptr);

/// Output lengths of a convolution: (in + pad_lo + pad_hi - (1 + dilation (filter - 1))) / stride +
/// 1 on each spatial axis.
Dims convolution_dims(const Dims& input, const Convolution& conv);

/// One activation of one value, and its derivative there. Where that does not exist: that of the
/// lower side, and 0 for the absolute value.
Bounded activate(const Activation& activation, Bounded x);
Bounded derivative(const Activation& activation, Bounded x);

}  // namespace fuseplan::test
