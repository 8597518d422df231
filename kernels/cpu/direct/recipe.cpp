// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/status.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/direct/launch.hpp"
#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/direct/tuning.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/finish_needs.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

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

// Of the output in channels in vectors, each pixel; of what is turned, strips that start with a
// line.
bool stores_whole_lines(const DirectPlan& plan) {
  if (plan.in_registers) return true;
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(plan.shape.output));
  return !plan.shape.lanes_are_channels &&
         std::ranges::all_of(plan.tiling.strips, [&](const Strip& strip) {
           return strip.column * bytes % kCacheLine == 0;
         });
}

/// Vectors of AVX2 are parts of lines, whose other parts the same tile stores right after: tiles
/// begin wherever a group does, and the last of a group may be narrower.
std::int64_t lanes_of_run(const DirectPlan& plan) {
  return plan.isa == Isa::avx2 && plan.in_registers
             ? std::gcd(plan.shape.conv.group_outputs, plan.tile_lanes)
             : plan.lanes();
}

class DirectRecipe final : public Recipe {
 public:
  DirectRecipe(DirectPlan plan, const SplitChain& chain) : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    // Held for all kernels, whose chain is one: their finishers look it up.
    const auto needs = plan_.in_registers ? FinishNeeds::of(plan_.isa, plan_.finish) : nullptr;
    for (const TileSpec& spec : plan_.specs())
      functions.push_back({fmt::format("direct_tile_{}x{}_from{}_to{}", spec.pixels, spec.vectors,
                                       spec.first, spec.last),
                           emit_tile(spec, plan_.in_registers ? &plan_.finish : nullptr)});
    if (!plan_.in_registers) functions.push_back({"direct_rows", emit_rows(plan_.rows)});
    if (!chain_.channels.roots.empty())
      functions.push_back(
          {"direct_channels",
           emit_channel_prologue(chain_, plan_.isa, plan_.shape.conv.output.len[1])});
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
                                          const Target& target) {
  if (problem.conv() == nullptr) return "the plan has no convolution";
  if (target.isa == Isa::portable) return "direct kernels are written for AVX2 and AVX-512 only";
  for (DType dtype : {problem.input().dtype, problem.conv()->weights.dtype})
    if (!is_real(dtype))
      return fmt::format("factors are f32, f16 or bf16 here, not {}", name_of(dtype));
  const DirectShape shape = direct_shape(problem, chain);
  if (auto refusal = lane_refusal(shape.tensors())) return refusal;
  const DirectConfig first = leading_configs(shape, target, core_rates("generic")).front();
  if (!is_addressable(direct_plan(shape, chain, target, first)))
    return "the input's strides reach further than the 2 GiB of an instruction's displacement";
  return std::nullopt;
}

std::vector<DirectConfig> direct_configs(const Problem& problem, const Target& target,
                                         const CoreRates& rates) {
  return tuning_space(direct_shape(problem, {}), target, rates);
}

DirectConfig first_direct_config(const Problem& problem, const Target& target,
                                 const CoreRates& rates) {
  return leading_configs(direct_shape(problem, {}), target, rates).front();
}

bool has_direct_config(const Problem& problem, const Target& target, const DirectConfig& config,
                       const CoreRates& rates) {
  const DirectShape shape = direct_shape(problem, {});
  const auto is_in = [&](const std::vector<DirectConfig>& configs) {
    return std::ranges::find(configs, config) != configs.end();
  };
  return is_in(leading_configs(shape, target, rates)) || is_in(tuning_space(shape, target, rates));
}

std::shared_ptr<const Recipe> direct_recipe(const Problem& problem, const SplitChain& chain,
                                            const Target& target, const DirectConfig& config) {
  require(tile_fits(target.isa, config.pixels, config.vectors), Status::BadParm,
          "a direct tile of {}x{} does not fit the registers of {}", config.pixels, config.vectors,
          name_of(target.isa));
  const DirectShape shape = direct_shape(problem, chain);
  require(!config.pairs || (target.extensions.bf16 && may_pair(shape)), Status::BadParm,
          "pairs need bf16 input and weights and a CPU with AVX512_BF16");
  const DirectPlan plan = direct_plan(shape, chain, target, config);
  require(is_addressable(plan), Status::BadParm,
          "{}: steps through the input are longer than the 2 GiB of an instruction's displacement",
          to_text(config));
  const auto make = [&](bool streaming) {
    DirectPlan made = plan;
    (made.in_registers ? made.finish.streaming : made.rows.streaming) = streaming;
    made.rows.fences = false;
    return std::make_shared<DirectRecipe>(std::move(made), chain);
  };
  // 3 to 64 channels by 3x3, 13 MB: 1450 to 1290 us; three groups of 80 to 80, 12 MB: 4100 to 3750
  // us; 3 channels by 7x7 no gain.
  return shape.is_held_by_stores() && stores_whole_lines(plan)
             ? with_streaming(shape.tensors(), chain, lanes_of_run(plan), make)
             : make(false);
}

}  // namespace fuseplan::cpu
