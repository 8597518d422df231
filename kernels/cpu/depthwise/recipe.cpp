// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/recipe.hpp"

#include <fmt/format.h>

#include "kernels/cpu/depthwise/program.hpp"
#include "kernels/cpu/depthwise/stage.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"

namespace fuseplan::cpu {
namespace {

class DepthwiseRecipe final : public Recipe {
 public:
  DepthwiseRecipe(const Problem& problem, const SplitChain& chain, Isa isa)
      : plan_(problem, chain, isa), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    for (int rows : plan_.tile_rows)
      functions.push_back({fmt::format("depthwise_sums_{}", rows), emit_pixel_sums(plan_, rows)});
    functions.push_back({"depthwise_rows", emit_rows(plan_.rows)});
    if (has_stage()) functions.push_back({"depthwise_stage", emit_stage(plan_)});
    if (has_prologue())
      functions.push_back({"depthwise_prologue", emit_channel_prologue(chain_, plan_.isa, 0)});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    std::size_t next = plan_.tile_rows.size();
    DepthwiseEntries named;
    named.sums = entries.first(next);
    named.rows = entries[next++];
    if (has_stage()) named.stage = entries[next++];
    if (has_prologue()) named.prologue = entries[next++];
    return depthwise_program(plan_, chain_, named);
  }

 private:
  bool has_stage() const { return plan_.staged && plan_.g.stride[2] <= 2; }
  bool has_prologue() const { return !chain_.channels.roots.empty(); }

  DepthwisePlan plan_;
  SplitChain chain_;
};

}  // namespace

std::shared_ptr<const Recipe> depthwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa) {
  return std::make_shared<DepthwiseRecipe>(problem, chain, isa);
}

}  // namespace fuseplan::cpu
