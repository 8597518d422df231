// SPDX-License-Identifier: MIT
#include "expr/derivatives.hpp"

#include <iterator>
#include <numbers>

namespace fuseplan {
namespace {

#define FUSEPLAN_PARTIAL(value) [](Term y, const Term* x) { return (void)y, (void)x, value; }
#define FUSEPLAN_CHOICE(value) [](const Term* x, const Term* dx) { return value; }

constexpr double kErfScale = 2 * std::numbers::inv_sqrtpi;

// Choosing between derivatives, instead of multiplying by 0 or 1, keeps an infinite one of the side
// that was not taken from turning the result into NaN.
constexpr Derivative kDerivatives[] = {
    {Fn::neg_, {FUSEPLAN_PARTIAL(y.constant(-1))}},
    {Fn::abs_, {}, FUSEPLAN_CHOICE(select(x[0], dx[0], select(-x[0], -dx[0], x[0].constant(0))))},
    {Fn::sqrt_, {FUSEPLAN_PARTIAL(0.5 / y)}},
    {Fn::rsqrt_, {FUSEPLAN_PARTIAL(-0.5 * (y * y * y))}},
    {Fn::exp_, {FUSEPLAN_PARTIAL(y)}},
    {Fn::expm1_, {FUSEPLAN_PARTIAL(exp(x[0]))}},
    {Fn::log_, {FUSEPLAN_PARTIAL(1 / x[0])}},
    {Fn::log1p_, {FUSEPLAN_PARTIAL(1 / (1 + x[0]))}},
    {Fn::tanh_, {FUSEPLAN_PARTIAL(1 - y * y)}},
    {Fn::erf_, {FUSEPLAN_PARTIAL(kErfScale * exp(-(x[0] * x[0])))}},
    {Fn::logistic_, {FUSEPLAN_PARTIAL(y * (1 - y))}},
    {Fn::logistic2_, {FUSEPLAN_PARTIAL(std::numbers::ln2 * (y * (1 - y)))}},
    {Fn::add_, {FUSEPLAN_PARTIAL(y.constant(1)), FUSEPLAN_PARTIAL(y.constant(1))}},
    {Fn::sub_, {FUSEPLAN_PARTIAL(y.constant(1)), FUSEPLAN_PARTIAL(y.constant(-1))}},
    {Fn::mul_, {FUSEPLAN_PARTIAL(x[1]), FUSEPLAN_PARTIAL(x[0])}},
    {Fn::div_, {FUSEPLAN_PARTIAL(1 / x[1]), FUSEPLAN_PARTIAL(-(y / x[1]))}},
    {Fn::min_, {}, FUSEPLAN_CHOICE(select(x[1] - x[0], dx[0], dx[1]))},
    {Fn::max_, {}, FUSEPLAN_CHOICE(select(x[1] - x[0], dx[1], dx[0]))},
    {Fn::pow_, {FUSEPLAN_PARTIAL(x[1] * pow(x[0], x[1] - 1)), FUSEPLAN_PARTIAL(y* log(x[0]))}},
    {Fn::fma_, {FUSEPLAN_PARTIAL(x[1]), FUSEPLAN_PARTIAL(x[0]), FUSEPLAN_PARTIAL(y.constant(1))}},
    {Fn::select_, {}, FUSEPLAN_CHOICE(select(x[0], dx[1], dx[2]))},
};

constexpr bool rows_match_functions() {
  int row = 0;
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) \
  if (kDerivatives[row++].fn != Fn::name##_) return false;
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
  return row == static_cast<int>(std::size(kDerivatives));
}
static_assert(rows_match_functions(), "one row per function, in the order of functions.def");

}  // namespace

const Derivative& derivative_of(Fn fn) { return kDerivatives[static_cast<std::size_t>(fn)]; }

}  // namespace fuseplan
