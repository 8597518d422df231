// SPDX-License-Identifier: MIT
#include "expr/activations.hpp"

#include <cfloat>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/status.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

// log(1 + exp(x)) without overflow or cancellation. min(-x, x) is -|x|, spelled so that the
// derivative at 0, where min follows its second argument, comes out as logistic(0).
Term softrelu(Term x) { return max(0, x) + log1p(exp(min(-x, x))); }

// The bound stands first in min and max: they return their second argument if either is NaN.
Term hard_sigmoid(Term x, Term a, Term b) { return max(0, min(1, a * x + b)); }

// x times a gate that is 0 at -infinity: so is the product, which of infinity would be NaN.
Term gated(Term x, Term gate) { return max(x.constant(-FLT_MAX), x) * gate; }

// One definition for each row of plan/activations.def.
struct Definitions {
  Term x, a, b, g;

  Term PASTHRU() const { return x; }
  Term LOGISTIC() const { return logistic(x); }
  Term TANH() const { return b * tanh(a * x); }
  Term RELU() const { return max(0, x); }
  Term SOFTRELU() const { return softrelu(x); }
  Term ABS() const { return abs(x); }
  Term POWER() const { return pow(a + b * x, g); }
  Term CLIPPEDRELU() const { return min(a, max(0, x)); }
  Term LEAKYRELU() const {
    // A slope of 0 must turn -infinity into 0, not NaN, so then x is kept finite.
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Term lowest = select(abs(a), x.constant(-kInfinity), x.constant(-FLT_MAX));
    return select(x, x, a * max(lowest, x));
  }
  Term ELU() const { return select(x, x, a * expm1(x)); }
  Term CLAMP() const { return min(b, max(a, x)); }
  Term GELU_ERF() const { return gated(0.5 * x, 1 + erf(x * (std::numbers::sqrt2 / 2))); }
  Term GELU_TANH() const {
    // 0.5 x (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 = logistic(2 u)
    // does not cancel for negative x. Beyond the bound, where 2 u is 126 ln 2, it is 1 to the last
    // bit or smaller than any normal number, which counts as 0, and its derivative is 0.
    constexpr double kBound = 10.01, kCubic = 0.044715;
    const double scale = 2 * std::sqrt(2 * std::numbers::inv_pi) * std::numbers::log2e;
    const Term above = max(-kBound, x), v = min(kBound, above);
    return above * logistic2(v * (scale + scale * kCubic * (v * v)));
  }
  Term SILU() const { return gated(x, logistic(x)); }
  Term MISH() const {
    // x tanh(log(1 + e^x)): the tanh is n / (n + 2) with n = e^x (e^x + 2), and 1 beyond 20.
    const Term e = exp(min(20, x)), n = e * (e + 2);
    return gated(x, n / (n + 2));
  }
  Term HARDSWISH() const {
    const Term gate = hard_sigmoid(x, a, b);  // 0 at either end, by the sign of a
    return select(gate, x, x.constant(0)) * gate;
  }
  Term HARDSIGMOID() const { return hard_sigmoid(x, a, b); }
  Term SOFTPLUS() const { return softrelu(a * x) / a; }
  Term TRUNCATEDPOWER() const {
    const Term v = a + b * x;
    return select(v - 1e-6, pow(v, g), max(0, min(0, v)));  // the last is 0, or NaN for NaN
  }
};

}  // namespace

Ref activation(Graph& graph, Activation mode, Ref x, Ref a, Ref b, Ref g) {
  const Definitions define{{&graph, x}, {&graph, a}, {&graph, b}, {&graph, g}};
  switch (mode) {
#define FUSEPLAN_ACTIVATION(name, value, text) \
  case Activation::name:                       \
    return define.name().ref;
#include "plan/activations.def"
#undef FUSEPLAN_ACTIVATION
  }
  fail(Status::InternalError, "{} is no activation mode", static_cast<int>(mode));
}

}  // namespace fuseplan
