// SPDX-License-Identifier: MIT
#include <cmath>

#include "base/status.hpp"
#include "expr/functions.hpp"
#include "expr/readers.hpp"

namespace fuseplan {
namespace {

double at(std::span<const double> values, int index, const char* what) {
  require(index >= 0 && static_cast<std::size_t>(index) < values.size(), Status::InternalError,
          "the expression reads {} {}, but {} were given", what, index, values.size());
  return values[static_cast<std::size_t>(index)];
}

double value_of_leaf(const Node& node, const LeafValues& leaves) {
  switch (node.leaf) {
    case Leaf::constant:
      return node.value;
    case Leaf::input:
      return leaves.input;
    case Leaf::previous:
      return leaves.previous;
    case Leaf::scalar:
      return at(leaves.scalars, node.index, "scalar");
    case Leaf::channel:
      return at(leaves.channels, node.index, "channel parameter");
    case Leaf::element:
      return at(leaves.elements, node.index, "element tensor");
    case Leaf::none:
      break;
  }
  fail(Status::InternalError, "a function is no leaf");
}

}  // namespace

double apply(Fn fn, [[maybe_unused]] double a, [[maybe_unused]] double b,
             [[maybe_unused]] double c) {
  switch (fn) {
#define FUSEPLAN_FUNCTION(name, arity, text, gpu, value) \
  case Fn::name##_:                                      \
    return value;
#include "expr/functions.def"
#undef FUSEPLAN_FUNCTION
  }
  fail(Status::InternalError, "{} is no function", static_cast<int>(fn));
}

std::vector<double> evaluate(const Expr& expr, const LeafValues& leaves) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(expr.graph.size()));
  const auto argument = [&](Ref ref) {
    return ref == kNoRef ? 0.0 : values[static_cast<std::size_t>(ref)];
  };
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node& node = expr.graph[ref];
    const auto& [a, b, c] = node.args;
    values.push_back(node.leaf == Leaf::none ? apply(node.fn, argument(a), argument(b), argument(c))
                                             : value_of_leaf(node, leaves));
  }
  std::vector<double> results;
  for (Ref root : expr.roots) results.push_back(argument(root));
  return results;
}

}  // namespace fuseplan
