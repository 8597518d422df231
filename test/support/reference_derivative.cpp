// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "support/reference.hpp"

namespace fuseplan::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Bounded function(double (*f)(double), Bounded x) { return apply(f, x, kFunction); }

/// A function of pieces; where rounding decides between two pieces, the step is in the bound.
template <typename F>
Bounded pieces(const F& f, Bounded x) {
  return apply(f, x, 0);
}

/// Derivatives of products are sums of terms of at most this size, which the library may add in
/// another order and form: what cancels is still rounded.
Bounded cancelling(Bounded value, double size) {
  return settle(value.value, value.error + 2 * kFunction * size, value.determined());
}

/// log(1 + exp(x))
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

Bounded power(Bounded t, double g) {
  const double exponent = std::fabs(g * std::log2(std::fabs(t.value)));
  const double rounding = std::isfinite(exponent) ? kFunction * (2 + exponent) : kFunction;
  return apply([g](double v) { return std::pow(v, g); }, t, rounding);
}

/// b g t^(g - 1) above 1e-6, and 0 below; where rounding decides between the two, either.
Bounded truncated_power(Bounded t, double b, double g) {
  const double cut = 1e-6f;
  if (t.value + t.error <= cut) return {0};
  const Bounded slope = Bounded{b} * Bounded{g} * power({std::fmax(t.value, cut), t.error}, g - 1);
  if (!(t.value - t.error <= cut)) return slope;
  return {t.value > cut ? slope.value : 0, std::fabs(slope.value) + slope.error};
}

/// 0.5 (1 + erf(x / sqrt 2)) + x exp(-x^2 / 2) / sqrt(2 pi)
Bounded gelu_erf(Bounded x) {
  const Bounded share = Bounded{0.5} * (Bounded{1} + function(std::erf, Bounded{M_SQRT1_2} * x));
  const Bounded density = function(std::exp, Bounded{-0.5} * x * x);
  return share + Bounded{1 / std::sqrt(2 * M_PI)} * x * density;
}

/// 0.5 (1 + t) + 0.5 x (1 - t^2) u' with t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3)
Bounded gelu_tanh(Bounded x) {
  const Bounded root{std::sqrt(2 / M_PI)}, one{1}, half{0.5};
  const Bounded t = function(std::tanh, root * (x + Bounded{0.044715} * x * x * x));
  const Bounded slope = root * (one + Bounded{3 * 0.044715} * x * x);
  return half * (one + t) + half * x * (one - t * t) * slope;
}

/// tanh(s) + x (1 - tanh(s)^2) logistic(x) with s = softplus(x)
Bounded mish(Bounded x) {
  const Bounded t = function(std::tanh, function(softplus, x));
  return t + x * (Bounded{1} - t * t) * function(logistic, x);
}

Bounded curved(const Activation& activation, Bounded x, double a, double b, double g) {
  const Bounded one{1}, l = function(logistic, x);
  const double size = 1 + std::fabs(x.value);
  switch (activation.mode) {
    case Mode::LOGISTIC:
      return cancelling(l * (one - l), 1);
    case Mode::TANH: {
      const Bounded t = function(std::tanh, Bounded{a} * x);
      return Bounded{a} * Bounded{b} * cancelling(one - t * t, 1);
    }
    case Mode::SOFTRELU:
      return cancelling(l, 1);
    case Mode::POWER:
      return Bounded{b} * Bounded{g} * power(Bounded{a} + Bounded{b} * x, g - 1);
    case Mode::TRUNCATEDPOWER:
      return truncated_power(Bounded{a} + Bounded{b} * x, b, g);
    case Mode::GELU_ERF:
      return cancelling(gelu_erf(x), size);
    case Mode::GELU_TANH:
      return cancelling(gelu_tanh(x), size * (1 + x.value * x.value));
    case Mode::SILU:
      return cancelling(l + x * l * (one - l), size);
    case Mode::MISH:
      return cancelling(mish(x), size);
    case Mode::SOFTPLUS:
      return cancelling(function(logistic, Bounded{a} * x), 1);
    default:
      throw std::invalid_argument("unknown activation mode");
  }
}

}  // namespace

Bounded derivative(const Activation& activation, Bounded x) {
  const double a = static_cast<float>(activation.alpha);
  const double b = static_cast<float>(activation.beta);
  const double g = static_cast<float>(activation.gamma);
  switch (activation.mode) {
    case Mode::PASTHRU:
      return {1};
    case Mode::RELU:
      return pieces([](double v) { return v > 0 ? 1.0 : 0.0; }, x);
    case Mode::ABS:
      return pieces([](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; }, x);
    case Mode::CLIPPEDRELU:
      return pieces([&](double v) { return v > 0 && v <= a ? 1.0 : 0.0; }, x);
    case Mode::LEAKYRELU:
      return pieces([&](double v) { return v > 0 ? 1.0 : a; }, x);
    case Mode::ELU:
      return apply([&](double v) { return v > 0 ? 1.0 : a * std::exp(v); }, x, 2 * kFunction);
    case Mode::CLAMP:
      return pieces([&](double v) { return v > a && v <= b ? 1.0 : 0.0; }, x);
    case Mode::HARDSIGMOID: {
      const Bounded inner = Bounded{a} * x + Bounded{b};
      return pieces([&](double t) { return t > 0 && t <= 1 ? a : 0.0; }, inner);
    }
    case Mode::HARDSWISH: {
      // h + x h' with h = max(0, min(1, a x + b)): continuous but for the steps of h'.
      const Bounded inner = Bounded{a} * x + Bounded{b};
      const Bounded h = pieces([](double t) { return std::fmax(0, std::fmin(1, t)); }, inner);
      const Bounded slope = pieces([&](double t) { return t > 0 && t <= 1 ? a : 0.0; }, inner);
      return h + x * slope;
    }
    default:
      return curved(activation, x, a, b, g);
  }
}

}  // namespace fuseplan::test
