// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/recipe.hpp"

#include "base/status.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/grouped/program.hpp"
#include "kernels/cpu/grouped/tile_kernel.hpp"
#include "kernels/cpu/grouped/tuning.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

class GroupedRecipe final : public Recipe {
 public:
  GroupedRecipe(const GroupedPlan& plan, const SplitChain& chain) : plan_(plan), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    functions.push_back({"grouped_tiles", plan_.lanes_are_channels ? emit_channel_tiles(plan_)
                                                                   : emit_column_tiles(plan_)});
    if (!chain_.channels.roots.empty())
      functions.push_back(
          {"grouped_channels", emit_channel_prologue(chain_, plan_.isa, plan_.g.output.len[1])});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return grouped_program(plan_, chain_, entries);
  }

 private:
  GroupedPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::optional<std::string> grouped_refusal(const Problem& problem, const SplitChain& chain,
                                           const Target& target) {
  if (problem.conv() == nullptr) return "the plan has no convolution";
  return refusal_of(GroupedShape(problem, chain, target));
}

std::vector<GroupedConfig> grouped_configs(const Problem& problem, const SplitChain& chain,
                                           const Target& target, const CoreRates& rates) {
  return grouped_tuning_space(GroupedShape(problem, chain, target), rates);
}

GroupedConfig first_grouped_config(const Problem& problem, const SplitChain& chain,
                                   const Target& target, const CoreRates& rates) {
  return first_grouped_config(GroupedShape(problem, chain, target), rates);
}

std::shared_ptr<const Recipe> grouped_recipe(const Problem& problem, const SplitChain& chain,
                                             const Target& target, const GroupedConfig& config) {
  const GroupedShape shape(problem, chain, target);
  require(grouped_tile_fits(shape, config), Status::BadParm,
          "a grouped tile of {} does not fit the registers of {}", to_text(config),
          name_of(target.isa));
  const bool drains = drains_planes(shape);
  const auto make = [&](bool streaming) {
    GroupedPlan plan(shape, config);
    (drains ? plan.finish.drains : plan.finish.streaming) = streaming;
    return std::make_shared<GroupedRecipe>(plan, chain);
  };
  if (drains) return with_streamed_regions(shape.tensors(), chain, shape.touched_bytes(), make);
  const int vectors = shape.isa == Isa::avx2 && !shape.lanes_are_channels ? config.columns : 1;
  const bool whole = !shape.lanes_are_channels || shape.step == shape.lanes();
  return whole ? with_streaming(shape.tensors(), chain, vectors * shape.lanes(), make)
               : make(false);
}

}  // namespace fuseplan::cpu
