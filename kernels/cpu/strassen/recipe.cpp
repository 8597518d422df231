// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/status.hpp"
#include "kernels/cpu/conv1x1/tuning.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/finish_needs.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/strassen/launch.hpp"
#include "kernels/cpu/strassen/tuning.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

// Steps are displacements of 32 bits: of up to 64 rows, of half the lanes, and of the factors of
// up to 7 products.
bool is_addressable(const Conv1x1Shape& shape) {
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / (64 * 4);
  constexpr std::int64_t kMostChannels = 1 << 20, kMostPixels = 1 << 28;
  std::vector<View> views{shape.conv.output};
  for (const ElementView& element : shape.elements) views.push_back(element.view);
  const bool steps = std::ranges::all_of(
      views, [](const View& view) { return view.stride[1] < kReach && view.stride[4] < kReach; });
  return steps && std::max(shape.inputs(), shape.outputs()) <= kMostChannels &&
         shape.pixels() <= kMostPixels;
}

/// The second half of the lanes begins with a line, as the first does.
bool stores_whole_lines(const StrassenPlan& plan) {
  constexpr std::int64_t kLine = 64;
  const Halves& lanes = plan.config.by_channel ? plan.channels : plan.pixels;
  return lanes.distance(0) * static_cast<std::int64_t>(size_of(plan.shape.output)) % kLine == 0;
}

class StrassenRecipe final : public Recipe {
 public:
  StrassenRecipe(StrassenPlan plan, const SplitChain& chain)
      : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    // Held for all kernels, whose chain is one: their finishers look it up.
    const auto needs = FinishNeeds::of(plan_.shape.isa, plan_.specs.front().finish);
    for (const PairTileSpec& spec : plan_.specs)
      functions.push_back(
          {fmt::format("strassen_{}x{}x{}_tail{}{}", spec.loop.rows, spec.loop.vectors,
                       spec.loop.depth, spec.loop.tail, spec.lacks_row ? "_odd" : ""),
           emit_pair_tile(spec)});
    if (!plan_.finishes)
      functions.push_back(
          {"strassen_rows", emit_rows(rows_spec(plan_.shape.tensors(), chain_, plan_.shape.isa))});
    if (!chain_.channels.roots.empty())
      functions.push_back({"strassen_channels",
                           emit_channel_prologue(chain_, plan_.shape.isa, plan_.shape.outputs())});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return strassen_program(plan_, chain_, entries);
  }

 private:
  StrassenPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::optional<std::string> strassen_refusal(const Problem& problem, const SplitChain& chain,
                                            Isa isa) {
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, isa);
  if (auto refusal = conv1x1_layout_refusal(shape)) return refusal;
  if (!is_addressable(shape)) return "strides reach further than an instruction's displacement";
  if (!strassen_has_halves(shape, true) && !strassen_has_halves(shape, false))
    return "an odd number of output channels, and of pixels or they are no planes";
  return std::nullopt;
}

std::vector<StrassenConfig> strassen_configs(const Problem& problem, const SplitChain& chain,
                                             Isa isa, const CoreRates& rates) {
  return strassen_tuning_space(conv1x1_shape(problem, chain, isa), rates);
}

double strassen_speedup(const Problem& problem, const SplitChain& chain, Isa isa,
                        const CoreRates& rates) {
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, isa);
  return conv1x1_products(shape, rates) / strassen_products(shape, rates);
}

std::shared_ptr<const Recipe> strassen_recipe(const Problem& problem, const SplitChain& chain,
                                              Isa isa, const StrassenConfig& config) {
  require(product_fits(isa, config.rows, config.vectors), Status::BadParm,
          "a tile of {}x{} does not fit the registers of {}", config.rows, config.vectors,
          name_of(isa));
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, isa);
  require(strassen_has_halves(shape, config.by_channel), Status::BadParm,
          "{}: there are no halves of such lanes", to_text(config));
  const StrassenPlan plan = strassen_plan(shape, chain, config);
  const auto make = [&](bool streaming) {
    StrassenPlan made = plan;
    if (streaming) stream_output(made);
    return std::make_shared<StrassenRecipe>(std::move(made), chain);
  };
  const Halves& lanes = config.by_channel ? plan.channels : plan.pixels;
  return plan.finishes && stores_whole_lines(plan)
             ? with_streaming(shape.tensors(), chain, lanes_of_run(shape, lanes.step()), make)
             : make(false);
}

}  // namespace fuseplan::cpu
