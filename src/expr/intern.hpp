// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <tuple>

#include "expr/expr.hpp"

namespace fuseplan {

/// Appends nodes to a graph so that equal ones are the same node. Constants are equal if their bits
/// are (0 is not -0, NaN is itself); the order of factors and summands does not matter.
class Interner {
 public:
  explicit Interner(Graph& graph) : graph_(graph) {}
  Ref push(Node node);

 private:
  using Key = std::tuple<Leaf, Fn, std::array<Ref, 3>, int, std::uint64_t>;
  Graph& graph_;
  std::map<Key, Ref> known_;
};

}  // namespace fuseplan
