// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/direct/launch.hpp"
#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/direct/tuning.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"

namespace fuseplan::cpu {
namespace {

bool is_stored(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Steps are immediates and displacements of 32 bits, several of them added up.
bool is_addressable(const DirectPlan& plan) {
  constexpr double kReach = std::numeric_limits<std::int32_t>::max();
  return std::ranges::all_of(plan.tiling.variants, [](const TileSpec& spec) {
    const TileSteps& steps = spec.steps;
    const double within = 8.0 * static_cast<double>(steps.channel) +
                          static_cast<double>(spec.pixels) * static_cast<double>(steps.pixel) +
                          static_cast<double>(spec.taps) * static_cast<double>(steps.tap);
    return within < kReach && static_cast<double>(steps.row) < kReach &&
           static_cast<double>(steps.plane) < kReach;
  });
}

RowsSpec rows_spec(const DirectPlan& plan, const SplitChain& chain) {
  RowsSpec spec;
  spec.isa = plan.isa;
  spec.body = chain.body;
  spec.input = DType::f32;
  spec.output = plan.shape.output;
  spec.lanes_are_channels = plan.shape.lanes_are_channels;
  const auto lane = static_cast<std::size_t>(plan.shape.lane_axis());
  for (const DirectShape::Element& element : plan.shape.elements)
    spec.elements.push_back({element.dtype, element.view.stride[lane] == 1});
  return spec;
}

class DirectRecipe final : public Recipe {
 public:
  DirectRecipe(DirectPlan plan, const SplitChain& chain) : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    for (const TileSpec& spec : plan_.specs())
      functions.push_back({fmt::format("direct_tile_{}x{}_from{}_to{}", spec.pixels, spec.vectors,
                                       spec.first, spec.last),
                           emit_tile(spec)});
    functions.push_back({"direct_rows", emit_rows(rows_spec(plan_, chain_))});
    if (!chain_.channels.roots.empty())
      functions.push_back({"direct_channels", emit_channel_prologue(chain_, plan_.isa)});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return direct_program(plan_, chain_, entries);
  }

 private:
  DirectPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::optional<std::string> direct_refusal(const Problem& problem, const SplitChain& chain,
                                          Isa isa) {
  if (problem.conv() == nullptr) return "the plan has no convolution";
  if (isa == Isa::portable) return "direct kernels are written for AVX2 and AVX-512 only";
  for (DType dtype : {problem.input().dtype, problem.conv()->weights.dtype, problem.output().dtype})
    if (!is_stored(dtype))
      return fmt::format("tensors are f32, f16 or bf16 here, not {}", name_of(dtype));
  const DirectShape shape = direct_shape(problem, chain);
  if (auto refusal = lane_refusal(shape)) return refusal;
  if (!is_addressable(direct_plan(shape, isa, tuning_space(shape, isa).front())))
    return "the input's strides reach further than the 2 GiB of an instruction's displacement";
  return std::nullopt;
}

std::vector<DirectConfig> direct_configs(const Problem& problem, Isa isa) {
  return tuning_space(direct_shape(problem, {}), isa);
}

std::shared_ptr<const Recipe> direct_recipe(const Problem& problem, const SplitChain& chain,
                                            Isa isa, const DirectConfig& config) {
  require(tile_fits(isa, config.pixels, config.vectors), Status::BadParm,
          "a direct tile of {}x{} does not fit the registers of {}", config.pixels, config.vectors,
          name_of(isa));
  return std::make_shared<DirectRecipe>(direct_plan(direct_shape(problem, chain), isa, config),
                                        chain);
}

}  // namespace fuseplan::cpu
