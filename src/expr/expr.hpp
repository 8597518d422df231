// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/tensor.hpp"

namespace fuseplan {

/// The functions of the pointwise expression language; one row each in functions.def.
enum class Fn : std::uint8_t {
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) name##_,
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
};
struct FnInfo {
  Fn fn;
  int arity;
  const char* text;
  const char* gpu;
};
const FnInfo& info_of(Fn fn);
int function_count();

/// What a node without arguments stands for.
enum class Leaf : std::uint8_t {
  none,      ///< not a leaf
  constant,  ///< `value`
  input,     ///< the value the chain starts from: convolution result, or the plan's input element
  previous,  ///< what the output held before (beta blending)
  scalar,    ///< run-time scalar number `index`
  channel,   ///< per-channel parameter number `index`, at this element's channel
  element,   ///< per-element tensor number `index`, at this element
};

using Ref = std::int32_t;  ///< index of a node in its Graph
inline constexpr Ref kNoRef = -1;

struct Node {
  Leaf leaf = Leaf::none;
  Fn fn{};                                          ///< if leaf == none
  std::array<Ref, 3> args{kNoRef, kNoRef, kNoRef};  ///< all smaller than the node's own Ref
  int index = 0;                                    ///< scalar, channel, element
  double value = 0;                                 ///< constant
  bool operator==(const Node&) const = default;
};

/// How often a value changes: once per launch, per channel, or per element.
enum class Rate : std::uint8_t { uniform, channel, element };

/// Nodes in topological order: a node's arguments stand before it.
class Graph {
 public:
  Ref constant(double value) { return push({.leaf = Leaf::constant, .value = value}); }
  Ref leaf(Leaf leaf, int index = 0) { return push({.leaf = leaf, .index = index}); }
  Ref call(Fn fn, Ref a, Ref b = kNoRef, Ref c = kNoRef) {
    return push({.fn = fn, .args = {a, b, c}});
  }
  Ref push(const Node& node);
  void reserve(Ref nodes) { nodes_.reserve(static_cast<std::size_t>(nodes)); }

  const Node& operator[](Ref ref) const { return nodes_[static_cast<std::size_t>(ref)]; }
  Ref size() const { return static_cast<Ref>(nodes_.size()); }
  bool operator==(const Graph&) const = default;

 private:
  std::vector<Node> nodes_;
};

/// Rate of every node: uniform for constants and scalars, channel for channel leaves, element for
/// input, previous and element leaves, and the highest of its arguments for a function.
std::vector<Rate> rates_of(const Graph& graph);
/// Appends the rates of the nodes that `rates` does not cover yet.
void extend_rates(const Graph& graph, std::vector<Rate>& rates);

/// A graph with its results.
struct Expr {
  Graph graph;
  std::vector<Ref> roots;
  bool operator==(const Expr&) const = default;
};

/// Drops nodes that no root needs and puts the rest in the order in which evaluating the roots
/// needs them, arguments from left to right. So the order does not depend on how they were built.
Expr compact(const Expr& expr);

/// "max(0,fma(x,c0,c1))": x input, y previous, s0 scalar, c0 channel, e0 element. A result used
/// more than once is spelled once, before: "t0=exp(x); add(t0,neg(t0))". Roots are joined by "; ".
std::string to_text(const Expr& expr);

}  // namespace fuseplan
