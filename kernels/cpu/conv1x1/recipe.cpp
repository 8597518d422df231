// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/status.hpp"
#include "kernels/cpu/conv1x1/launch.hpp"
#include "kernels/cpu/conv1x1/tuning.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/finish_needs.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

// Steps are displacements of 32 bits, of up to 16 depths or rows.
bool is_addressable(const Conv1x1Shape& shape) {
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / (32 * 4);
  std::vector<View> views{shape.conv.input, shape.conv.output};
  for (const ElementView& element : shape.elements) views.push_back(element.view);
  return std::ranges::all_of(
             views,
             [](const View& view) { return view.stride[1] < kReach && view.stride[4] < kReach; }) &&
         shape.conv.output.len[1] < kReach;
}

class Conv1x1Recipe final : public Recipe {
 public:
  Conv1x1Recipe(Conv1x1Plan plan, const SplitChain& chain)
      : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    // Held for all kernels, whose chain is one: their finishers look it up.
    const auto needs = FinishNeeds::of(plan_.shape.isa, plan_.specs.front().finish);
    for (const ProductSpec& spec : plan_.specs)
      functions.push_back(
          {fmt::format("conv1x1_{}x{}_tail{}", spec.loop.rows, spec.loop.vectors, spec.loop.tail),
           emit_product(spec)});
    if (!plan_.finishes)
      functions.push_back(
          {"conv1x1_rows", emit_rows(rows_spec(plan_.shape.tensors(), chain_, plan_.shape.isa))});
    if (!chain_.channels.roots.empty())
      functions.push_back(
          {"conv1x1_channels",
           emit_channel_prologue(chain_, plan_.shape.isa, plan_.shape.conv.output.len[1])});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return conv1x1_program(plan_, chain_, entries);
  }

 private:
  Conv1x1Plan plan_;
  SplitChain chain_;
};

}  // namespace

std::optional<std::string> conv1x1_refusal(const Problem& problem, const SplitChain& chain,
                                           Isa isa) {
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, isa);
  if (auto refusal = conv1x1_layout_refusal(shape)) return refusal;
  if (!is_addressable(shape)) return "strides reach further than an instruction's displacement";
  return std::nullopt;
}

std::vector<Conv1x1Config> conv1x1_configs(const Problem& problem, const SplitChain& chain, Isa isa,
                                           const CoreRates& rates) {
  return tuning_space(conv1x1_shape(problem, chain, isa), rates);
}

std::shared_ptr<const Recipe> conv1x1_recipe(const Problem& problem, const SplitChain& chain,
                                             Isa isa, const Conv1x1Config& config) {
  require(product_fits(isa, config.rows, config.vectors), Status::BadParm,
          "a tile of {}x{} does not fit the registers of {}", config.rows, config.vectors,
          name_of(isa));
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, isa);
  const bool divides = config.images >= 1 && shape.images() % config.images == 0;
  require(config.images == 1 || (shape.conv.groups == 1 && divides && config.staged),
          Status::BadParm, "windows of {} images, staged={}: of {} images in {} group(s)",
          config.images, config.staged ? 1 : 0, shape.images(), shape.conv.groups);
  const Conv1x1Plan plan = conv1x1_plan(shape, chain, config);
  const bool drains = drains_planes(plan);
  const auto make = [&](bool streaming) {
    Conv1x1Plan made = plan;
    if (streaming) drains ? drain_output(made) : stream_output(made);
    return std::make_shared<Conv1x1Recipe>(std::move(made), chain);
  };
  if (drains) return with_streamed_regions(plan.shape.tensors(), chain, 0, make);
  const Cut& lanes = config.by_channel ? plan.channels : plan.pixels;
  return plan.finishes ? with_streaming(plan.shape.tensors(), chain,
                                        lanes_of_run(plan.shape, lanes.step()), make)
                       : make(false);
}

}  // namespace fuseplan::cpu
