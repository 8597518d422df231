// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "expr/expr.hpp"

namespace fuseplan {

/// Appends nodes to a graph so that equal ones are the same node. Constants are equal if their bits
/// are (0 is not -0, NaN is itself); the order of factors and summands does not matter. Whoever
/// uses it pushes nothing past it.
class Interner {
 public:
  explicit Interner(Graph& graph) : graph_(graph) {}
  Ref push(Node node);

 private:
  std::size_t place_of(const Node& node) const;
  void grow();

  Graph& graph_;
  std::vector<Ref> places_;  ///< a hash table, open, half empty; its length a power of two
};

}  // namespace fuseplan
