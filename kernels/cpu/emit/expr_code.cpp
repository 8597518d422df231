// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/expr_code.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/emit/expr_values.hpp"
#include "kernels/cpu/emit/math.hpp"

namespace fuseplan::cpu {

namespace {

struct Call {
  VectorCode& code;
  ExprValues& values;
  Ref a, b, c;
};
using Emitter = void (*)(const Call&);

/// d = op(a, b); operands of commutative operations may change places to save a load.
template <typename Op>
void binary(const Call& call, bool commutes, const Op& op) {
  Ref a = call.a, b = call.b;
  ExprValues& v = call.values;
  if (commutes && !v.in_register(a) && v.in_register(b)) std::swap(a, b);
  const Vec first = v.reg(a);
  const Source second = v.source(b);
  const Vec d = v.result_over(v.reusable(a) ? a : b);
  op(d, first, second);
}

template <void (*function)(VectorCode&, const Vec&)>
void in_place(const Call& call) {
  const Vec d = call.values.result_from(call.a);
  function(call.code, d);
}

template <void (*function)(VectorCode&, const Vec&, const Interval&)>
void in_place_within(const Call& call) {
  const Vec d = call.values.result_from(call.a);
  function(call.code, d, call.values.interval(call.a));
}

void emit_neg_(const Call& call) {
  const Vec d = call.values.result_from(call.a);
  call.code.vxorps(d, d, call.code.bits(0x80000000u));
}
void emit_abs_(const Call& call) {
  const Vec d = call.values.result_from(call.a);
  call.code.vandps(d, d, call.code.bits(0x7fffffffu));
}
void emit_sqrt_(const Call& call) {
  const Vec d = call.values.result_from(call.a);
  call.code.vsqrtps(d, d);
}
constexpr Emitter emit_rsqrt_ = in_place<emit_rsqrt>;
constexpr Emitter emit_exp_ = in_place<emit_exp>;
constexpr Emitter emit_expm1_ = in_place<emit_expm1>;
constexpr Emitter emit_log_ = in_place<emit_log>;
constexpr Emitter emit_log1p_ = in_place<emit_log1p>;
constexpr Emitter emit_tanh_ = in_place<emit_tanh>;
constexpr Emitter emit_erf_ = in_place<emit_erf>;
constexpr Emitter emit_logistic_ = in_place_within<emit_logistic>;
constexpr Emitter emit_logistic2_ = in_place_within<emit_logistic2>;

void emit_add_(const Call& call) {
  binary(call, true, [&](auto& d, auto& a, auto& b) { call.code.vaddps(d, a, b); });
}
void emit_sub_(const Call& call) {
  binary(call, false, [&](auto& d, auto& a, auto& b) { call.code.vsubps(d, a, b); });
}
void emit_mul_(const Call& call) {
  binary(call, true, [&](auto& d, auto& a, auto& b) { call.code.vmulps(d, a, b); });
}
void emit_div_(const Call& call) {
  binary(call, false, [&](auto& d, auto& a, auto& b) { call.code.vdivps(d, a, b); });
}
// The instructions return the second operand for NaN and for zeros of either sign, as the
// definition does; so they do not commute.
void emit_min_(const Call& call) {
  binary(call, false, [&](auto& d, auto& a, auto& b) { call.code.vminps(d, a, b); });
}
void emit_max_(const Call& call) {
  binary(call, false, [&](auto& d, auto& a, auto& b) { call.code.vmaxps(d, a, b); });
}

void emit_pow_(const Call& call) {
  const Vec exponent = call.values.reg(call.b);
  if (call.a != call.b) {
    const Vec d = call.values.result_from(call.a);
    return emit_pow(call.code, d, exponent);
  }
  Temp copy(call.code);
  call.code.vmovaps(copy, exponent);
  const Vec d = call.values.result_from(call.a);
  emit_pow(call.code, d, copy);
}

// The result overwrites the addend or a factor, whichever is free to go; of the other two, one
// may come from memory.
void emit_fma_(const Call& call) {
  VectorCode& code = call.code;
  ExprValues& v = call.values;
  Ref a = call.a, b = call.b;
  const Ref c = call.c;
  if (v.reusable(b) || (!v.in_register(a) && v.in_register(b))) std::swap(a, b);
  if (v.reusable(c) && !v.reusable(a)) {
    const Vec factor = v.reg(a);
    const Source other = v.source(b);
    v.reg(c);
    const Vec d = v.result_over(c);
    return code.vfmadd231ps(d, factor, other);
  }
  if (v.in_register(b) || !v.in_register(c)) {
    const Vec factor = v.reg(b);
    const Source addend = v.source(c);
    const Vec d = v.result_from(a);
    code.vfmadd213ps(d, factor, addend);
  } else {
    const Vec addend = v.reg(c);
    const Source factor = v.source(b);
    const Vec d = v.result_from(a);
    code.vfmadd132ps(d, addend, factor);
  }
}

void emit_select_(const Call& call) {
  Mask positive(call.code);
  positive.compare(call.values.reg(call.a), call.code.constant(0.0f), Compare::gt);
  const Source chosen = call.values.source(call.b);
  const Vec d = call.values.result_from(call.c);
  positive.blend(d, chosen);
}

constexpr Emitter kEmitters[] = {
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) emit_##name##_,
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
};

}  // namespace

bool same_leaf(const Node& a, const Node& b) {
  return a == b && std::signbit(a.value) == std::signbit(b.value);
}

int work_of(const Expr& expr) {
  int work = 0;
  for (Ref i = 0; i < expr.graph.size(); ++i) {
    const Node& node = expr.graph[i];
    if (node.leaf != Leaf::none) continue;
    const bool is_function = node.fn >= Fn::rsqrt_ && node.fn <= Fn::logistic2_;
    work += is_function || node.fn == Fn::pow_ ? 10 : 1;
  }
  return work;
}

bool is_applied_in_registers(const Expr& expr) {
  constexpr int kMost = 32;  // three functions such as exp, of 10 each
  return work_of(expr) <= kMost;
}

bool brings_constants(const Expr& expr) {
  constexpr Fn kPlain[] = {Fn::add_, Fn::sub_, Fn::mul_, Fn::div_, Fn::min_, Fn::max_, Fn::fma_};
  for (Ref i = 0; i < expr.graph.size(); ++i) {
    const Node& node = expr.graph[i];
    if (node.leaf == Leaf::none && std::ranges::find(kPlain, node.fn) == std::end(kPlain))
      return true;
  }
  return false;
}

int vectors_per_turn(const Expr& expr) {
  const int work = work_of(expr);
  return work <= 8 ? 4 : work <= 20 ? 2 : 1;
}

void emit_expr(VectorCode& code, const Expr& expr, const ExprUses& uses, LeafSource& leaves,
               const RootSink& sink) {
  ExprValues values(code, expr, uses, leaves);
  const auto finish = [&](Ref ref) {
    for (std::size_t r = 0; r < expr.roots.size(); ++r)
      if (expr.roots[r] == ref) values.finish_root(ref, [&](const Vec& v) { sink(r, v); });
  };
  for (Ref i = 0; i < expr.graph.size(); ++i) {
    const Node& node = expr.graph[i];
    if (node.leaf != Leaf::none) continue;
    values.begin(i);
    kEmitters[static_cast<std::size_t>(node.fn)](
        {code, values, node.args[0], node.args[1], node.args[2]});
    values.end();
    finish(i);
  }
  for (Ref i = 0; i < expr.graph.size(); ++i)
    if (expr.graph[i].leaf != Leaf::none) finish(i);
}

}  // namespace fuseplan::cpu
