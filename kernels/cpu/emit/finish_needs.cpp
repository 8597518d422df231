// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/finish_needs.hpp"

#include <algorithm>

#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {
namespace {

bool reads_input_once(const Graph& graph) {
  int leaves = 0;
  for (Ref i = 0; i < graph.size(); ++i)
    if (graph[i].leaf == Leaf::input) ++leaves;
  return leaves == 1;
}

std::vector<Node> keepable_leaves(const Graph& graph) {
  constexpr std::size_t kMostKept = 8;
  std::vector<Node> leaves;
  leaves.reserve(kMostKept);
  for (const Leaf kind : {Leaf::channel, Leaf::scalar, Leaf::constant})
    for (Ref i = 0; i < graph.size(); ++i) {
      const Node& node = graph[i];
      if (node.leaf == kind && leaves.size() < kMostKept &&
          std::ranges::none_of(leaves, [&](const Node& leaf) { return same_leaf(leaf, node); }))
        leaves.push_back(node);
    }
  return leaves;
}

}  // namespace

std::shared_ptr<FinishNeeds> FinishNeeds::of(Isa isa, const FinishSpec& spec) {
  // Goes with the last who holds it: no plan is made faster by one that was compiled before.
  thread_local std::weak_ptr<FinishNeeds> last;
  std::shared_ptr<FinishNeeds> needs = last.lock();
  if (needs == nullptr || needs->isa_ != isa || needs->spec_ != spec)
    last = needs = std::make_shared<FinishNeeds>(isa, spec);
  return needs;
}

FinishNeeds::FinishNeeds(Isa isa, const FinishSpec& spec)
    : isa_(isa),
      spec_(spec),
      uses_(spec.body),
      keepable_(keepable_leaves(spec.body.graph)),
      reads_sum_once_(reads_input_once(spec.body.graph)) {}

const FinishNeeds::Need& FinishNeeds::with(std::size_t kept, const Sums& sums) {
  const auto [known, is_new] = known_.try_emplace({kept, sums});
  if (is_new) known->second = TileFinisher::need(isa_, spec_, kept, sums);
  return known->second;
}

std::size_t FinishNeeds::registers() {
  std::size_t kept = keepable_.size();
  std::size_t all = with(kept, {.partial = true}).registers;
  while (all == Need::kTooMany && kept > 0) all = with(--kept, {.partial = true}).registers;
  return all - kept;
}

}  // namespace fuseplan::cpu
