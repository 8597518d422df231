// SPDX-License-Identifier: MIT
#include "expr/intern.hpp"

#include <bit>
#include <utility>

namespace fuseplan {

Ref Interner::push(Node node) {
  Key key{node.leaf, node.fn, node.args, node.index, std::bit_cast<std::uint64_t>(node.value)};
  auto& args = std::get<2>(key);
  const bool commutes = node.fn == Fn::add_ || node.fn == Fn::mul_ || node.fn == Fn::fma_;
  if (node.leaf == Leaf::none && commutes && args[0] > args[1]) std::swap(args[0], args[1]);
  const auto [known, inserted] = known_.try_emplace(key, graph_.size());
  if (inserted) graph_.push(node);
  return known->second;
}

}  // namespace fuseplan
