// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/recipe.hpp"

#include <fmt/format.h>

#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/winograd/launch.hpp"
#include "kernels/cpu/winograd/plan.hpp"

namespace fuseplan::cpu {
namespace {

RowsSpec rows_spec(const WinogradPlan& plan, const SplitChain& chain) {
  RowsSpec spec;
  spec.isa = Isa::avx512;
  spec.body = chain.body;
  spec.input = DType::f32;
  spec.output = plan.shape.output;
  spec.lanes_are_channels = plan.shape.lanes_are_channels;
  const auto lane = static_cast<std::size_t>(plan.shape.lane_axis());
  for (const DirectShape::Element& element : plan.shape.elements)
    spec.elements.push_back({element.dtype, element.view.stride[lane] == 1});
  return spec;
}

class WinogradRecipe final : public Recipe {
 public:
  WinogradRecipe(WinogradPlan plan, const SplitChain& chain)
      : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    for (const TileSpec& spec : plan_.specs())
      functions.push_back(
          {fmt::format("winograd_products_{}x{}", spec.pixels, spec.vectors), emit_tile(spec)});
    functions.push_back({"winograd_rows", emit_rows(rows_spec(plan_, chain_))});
    if (!chain_.channels.roots.empty())
      functions.push_back({"winograd_channels", emit_channel_prologue(chain_, Isa::avx512)});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return winograd_program(plan_, chain_, entries);
  }

 private:
  WinogradPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::shared_ptr<const Recipe> winograd_recipe(const Problem& problem, const SplitChain& chain,
                                              const WinogradConfig& config) {
  return std::make_shared<WinogradRecipe>(winograd_plan(direct_shape(problem, chain), config),
                                          chain);
}

}  // namespace fuseplan::cpu
