// SPDX-License-Identifier: MIT
#pragma once

#include "expr/expr.hpp"

namespace fuseplan {

/// A node with its graph, so that formulas in C++ read like formulas. Plain numbers become
/// constants of the graph of the other operand.
struct Term {
  Graph* graph;
  Ref ref;

  Term call(Fn fn) const { return {graph, graph->call(fn, ref)}; }
  Term call(Fn fn, Term b) const { return {graph, graph->call(fn, ref, b.ref)}; }
  Term call(Fn fn, Term b, Term c) const { return {graph, graph->call(fn, ref, b.ref, c.ref)}; }
  Term constant(double value) const { return {graph, graph->constant(value)}; }
};

#define FUSEPLAN_TERM_BINARY(name, fn)                                         \
  inline Term name(Term a, Term b) { return a.call(Fn::fn, b); }               \
  inline Term name(Term a, double b) { return a.call(Fn::fn, a.constant(b)); } \
  inline Term name(double a, Term b) { return b.constant(a).call(Fn::fn, b); }
FUSEPLAN_TERM_BINARY(operator+, add_)
FUSEPLAN_TERM_BINARY(operator-, sub_)
FUSEPLAN_TERM_BINARY(operator*, mul_)
FUSEPLAN_TERM_BINARY(operator/, div_)
FUSEPLAN_TERM_BINARY(min, min_)
FUSEPLAN_TERM_BINARY(max, max_)
FUSEPLAN_TERM_BINARY(pow, pow_)
#undef FUSEPLAN_TERM_BINARY

inline Term operator-(Term a) { return a.call(Fn::neg_); }
inline Term abs(Term a) { return a.call(Fn::abs_); }
inline Term rsqrt(Term a) { return a.call(Fn::rsqrt_); }
inline Term exp(Term a) { return a.call(Fn::exp_); }
inline Term expm1(Term a) { return a.call(Fn::expm1_); }
inline Term log(Term a) { return a.call(Fn::log_); }
inline Term log1p(Term a) { return a.call(Fn::log1p_); }
inline Term tanh(Term a) { return a.call(Fn::tanh_); }
inline Term erf(Term a) { return a.call(Fn::erf_); }
inline Term logistic(Term a) { return a.call(Fn::logistic_); }
/// logistic(a ln 2), for arguments that are multiplied by a constant anyway
inline Term logistic2(Term a) { return a.call(Fn::logistic2_); }
/// condition > 0 ? yes : no
inline Term select(Term condition, Term yes, Term no) {
  return condition.call(Fn::select_, yes, no);
}

}  // namespace fuseplan
