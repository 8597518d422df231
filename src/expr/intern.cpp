// SPDX-License-Identifier: MIT
#include "expr/intern.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace fuseplan {
namespace {

constexpr std::size_t kInitialPlaces = 32;

bool commutes(Fn fn) { return fn == Fn::add_ || fn == Fn::mul_ || fn == Fn::fma_; }

bool same(const Node& a, const Node& b) {
  return a.leaf == b.leaf && a.fn == b.fn && a.args == b.args && a.index == b.index &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

std::uint64_t hash_of(const Node& node) {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(node.value);
  const auto mix = [&](std::uint64_t value) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    hash = (hash ^ value ^ hash >> 32) * kOdd;
  };
  mix(static_cast<std::uint64_t>(node.leaf) << 8 | static_cast<std::uint64_t>(node.fn));
  for (const Ref arg : node.args) mix(static_cast<std::uint32_t>(arg));
  mix(static_cast<std::uint32_t>(node.index));
  return hash ^ hash >> 32;
}

/// With the arguments of sums and products in one order.
Node ordered(Node node) {
  auto& args = node.args;
  if (node.leaf == Leaf::none && commutes(node.fn) && args[0] > args[1])
    std::swap(args[0], args[1]);
  return node;
}

}  // namespace

/// Where the node is, or the free place for it.
std::size_t Interner::place_of(const Node& node) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = hash_of(node) & mask;
  while (places_[place] != kNoRef && !same(ordered(graph_[places_[place]]), node))
    place = (place + 1) & mask;
  return place;
}

void Interner::grow() {
  const auto nodes = static_cast<std::size_t>(graph_.size()) + 1;
  places_.assign(std::max(kInitialPlaces, std::bit_ceil(4 * nodes)), kNoRef);
  for (Ref ref = 0; ref < graph_.size(); ++ref) places_[place_of(ordered(graph_[ref]))] = ref;
}

Ref Interner::push(Node node) {
  if (2 * static_cast<std::size_t>(graph_.size()) >= places_.size()) grow();
  const std::size_t place = place_of(ordered(node));
  if (places_[place] == kNoRef) places_[place] = graph_.push(node);
  return places_[place];
}

}  // namespace fuseplan
