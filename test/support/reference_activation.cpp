// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <stdexcept>

#include "support/reference.hpp"

namespace fuseplan::test {
namespace {

// Scalar building blocks. NaN goes through all of them; comparisons alone would lose it.
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
double at_least(double bound, double x) { return std::isnan(x) ? x : std::fmax(bound, x); }
double at_most(double bound, double x) { return std::isnan(x) ? x : std::fmin(bound, x); }

/// x times what vanishes faster at an infinity: the limit there.
Bounded gated(Bounded x, Bounded gate) {
  return std::isinf(x.value) && gate.value == 0 ? Bounded{0} : x * gate;
}

Bounded function(double (*f)(double), Bounded x) { return apply(f, x, kFunction); }

/// max(0, min(1, a x + b))
Bounded hard_sigmoid(double a, double b, Bounded x) {
  const Bounded inner = Bounded{a} * x + Bounded{b};
  return apply([](double t) { return at_least(0, at_most(1, t)); }, inner, 0);
}

/// Libraries compute pow as exp2(g log2 t): the rounding of the product counts |g log2 t| times.
double power_rounding(double t, double g) {
  const double exponent = std::fabs(g * std::log2(std::fabs(t)));
  return std::isfinite(exponent) ? kFunction * (1 + exponent) : kFunction;
}

Bounded power(Bounded t, double g) {
  if (g < 0 && t.error > 0 && std::fabs(t.value) <= t.error)
    return {std::pow(t.value, g), kUndetermined};
  return apply([g](double v) { return std::pow(v, g); }, t, power_rounding(t.value, g));
}

/// 0 up to 1e-6 and a power above: a jump, where rounding may take either side.
Bounded truncated_power(Bounded t, double g) {
  const double cut = 1e-6f;
  if (t.value <= cut && t.value + t.error <= cut) return {0};
  return apply([g, cut](double v) { return v > cut    ? std::pow(v, g)
                                           : v <= cut ? 0
                                                      : v; }, t,
               power_rounding(t.value, g));
}

Bounded gelu_tanh(Bounded x) {
  const double root = std::sqrt(2 / M_PI);
  const Bounded inner = Bounded{root} * (x + Bounded{0.044715} * x * x * x);
  return gated(Bounded{0.5} * x, Bounded{1} + function(std::tanh, inner));
}

Bounded gelu_erf(Bounded x) {
  const Bounded inner = Bounded{std::sqrt(0.5)} * x;
  return gated(Bounded{0.5} * x, Bounded{1} + function(std::erf, inner));
}

}  // namespace

Bounded activate(const Activation& activation, Bounded x) {
  const double a = static_cast<float>(activation.alpha);
  const double b = static_cast<float>(activation.beta);
  const double g = static_cast<float>(activation.gamma);
  switch (activation.mode) {
    case Mode::PASTHRU:
      return x;
    case Mode::LOGISTIC:
      return function(logistic, x);
    case Mode::TANH:
      return Bounded{b} * function(std::tanh, Bounded{a} * x);
    case Mode::RELU:
      return apply([](double v) { return v <= 0 ? 0 : v; }, x, 0);
    case Mode::SOFTRELU:
      return function(softplus, x);
    case Mode::ABS:
      return apply([](double v) { return std::fabs(v); }, x, 0);
    case Mode::POWER:
      return power(Bounded{a} + Bounded{b} * x, g);
    case Mode::CLIPPEDRELU:
      return apply([a](double v) { return at_most(a, at_least(0, v)); }, x, 0);
    case Mode::LEAKYRELU:
      return apply([a](double v) { return v > 0                      ? v
                                          : a == 0 && !std::isnan(v) ? 0
                                                                     : a * v; }, x,
                   kArithmetic);
    case Mode::ELU:
      return apply([a](double v) { return v > 0 ? v : a * std::expm1(v); }, x,
                   kFunction + kArithmetic);
    case Mode::CLAMP:
      return apply([a, b](double v) { return at_most(b, at_least(a, v)); }, x, 0);
    case Mode::GELU_ERF:
      return gelu_erf(x);
    case Mode::GELU_TANH:
      return gelu_tanh(x);
    case Mode::SILU:
      return gated(x, function(logistic, x));
    case Mode::MISH:
      return gated(x, function(std::tanh, function(softplus, x)));
    case Mode::HARDSWISH:
      return gated(x, hard_sigmoid(a, b, x));
    case Mode::HARDSIGMOID:
      return hard_sigmoid(a, b, x);
    case Mode::SOFTPLUS:
      return function(softplus, Bounded{a} * x) *
             apply([](double v) { return 1 / v; }, Bounded{a}, kArithmetic);
    case Mode::TRUNCATEDPOWER:
      return truncated_power(Bounded{a} + Bounded{b} * x, g);
  }
  throw std::invalid_argument("unknown activation mode");
}

}  // namespace fuseplan::test
