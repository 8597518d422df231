// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.hpp"
#include "kernels/cpu/direct/tuning.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/stem/launch.hpp"
#include "kernels/cpu/stem/plan.hpp"
#include "kernels/cpu/stem/tuning.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

class StemRecipe final : public Recipe {
 public:
  StemRecipe(const StemPlan& plan, const SplitChain& chain, bool streaming)
      : plan_(plan), chain_(chain), streaming_(streaming) {}

  std::vector<Function> emit() const override {
    const Isa isa = plan_.isa;
    std::vector<Function> functions;
    for (const StemTileSpec& spec : plan_.specs())
      functions.push_back({fmt::format("stem_{}_tiles", spec.tiles), emit_stem_tiles(spec)});
    const auto& [rows, columns] = std::tie(*plan_.rows, *plan_.columns);
    functions.push_back({"stem_input", emit_input_transform(isa, DType::f32, rows, columns,
                                                            plan_.width() * kFloat, true, 0)});
    functions.push_back({"stem_filter", emit_filter_transform(isa, rows, columns, false)});
    RowsSpec finish = rows_spec(plan_.shape.tensors(), chain_, isa);
    finish.streaming = streaming_;
    finish.fences = false;
    functions.push_back({"stem_rows", emit_rows(finish)});
    if (!chain_.channels.roots.empty())
      functions.push_back({"stem_channels", emit_channel_prologue(chain_, isa, plan_.outputs())});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return stem_program(plan_, chain_, entries);
  }

 private:
  StemPlan plan_;
  SplitChain chain_;
  bool streaming_;
};

}  // namespace

std::optional<std::string> stem_geometry_refusal(const Problem& problem) {
  // Other layers at stride 1 are cpu_winograd's. A vector's weights stay in the second-level cache.
  constexpr std::int64_t kFew = 16, kMostChannels = 256;
  const Conv& op = problem.conv()->conv;
  const ConvGeometry conv = geometry_of(problem);
  if (op.spatial() != 2) return fmt::format("{} spatial axes", op.spatial());
  if (conv.groups != 1) return fmt::format("{} groups", conv.groups);
  if (conv.dilation[1] != 1 || conv.dilation[2] != 1) return "dilation above 1";
  const std::int64_t phases = conv.stride[1] * conv.stride[2];
  if (conv.group_inputs > kMostChannels / phases || (phases == 1 && conv.group_inputs >= kFew))
    return fmt::format("{} input channels at stride {}x{}", conv.group_inputs, conv.stride[1],
                       conv.stride[2]);
  std::int64_t least = conv.group_inputs;
  for (std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    if (conv.stride[axis] > StemPlan::kMostStride)
      return fmt::format("stride {}", conv.stride[axis]);
    const std::int64_t taps = phases_of(conv, axis).taps;
    if (taps != 3 && taps != 4)
      return fmt::format("{} taps at stride {}", conv.filter[axis], conv.stride[axis]);
    if (op.pad_lo[axis - 1] >= conv.filter[axis] || op.pad_hi[axis - 1] >= conv.filter[axis])
      return "padding as wide as the filter";
    const std::int64_t padding = std::max(op.pad_lo[axis - 1], op.pad_hi[axis - 1]);
    least *= std::min(conv.filter[axis] - padding, conv.input.len[2 + axis]);
  }
  // Where padding leaves fewer, errors are no longer small beside those of a sum of products.
  constexpr std::int64_t kFewestProducts = 16;
  if (least < kFewestProducts) return fmt::format("{} products for an output at the border", least);
  return std::nullopt;
}

std::optional<std::string> stem_layout_refusal(const Problem& problem, const SplitChain& chain) {
  return lane_refusal(direct_shape(problem, chain).tensors());
}

std::vector<StemConfig> stem_configs(const Problem& problem, Isa isa, const CoreRates& rates) {
  return stem_tuning_space(direct_shape(problem, {}), isa, rates);
}

double stem_speedup(const Problem& problem, Isa isa, const CoreRates& rates) {
  const DirectShape shape = direct_shape(problem, {});
  const StemPlan plan = stem_plan(shape, isa, stem_tuning_space(shape, isa, rates).front());
  return direct_cycles(shape, isa, rates) / stem_cycles(plan, rates);
}

std::shared_ptr<const Recipe> stem_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          const StemConfig& config) {
  const DirectShape shape = direct_shape(problem, chain);
  const Axis* rows = find_axis(phases_of(shape.conv, 1).taps, 1, config.rows);
  const Axis* columns = find_axis(phases_of(shape.conv, 2).taps, 1, config.columns);
  require(rows != nullptr && columns != nullptr, Status::BadParm,
          "there are no tiles of {}x{} outputs for this filter", config.rows, config.columns);
  require(stem_tiles_fit(isa, *columns, config.tiles), Status::BadParm,
          "{} tiles at once do not fit the registers of {}", config.tiles, name_of(isa));
  const StemPlan plan = stem_plan(shape, isa, config);
  return with_streaming(shape.tensors(), chain, plan.lanes(), [&](bool streaming) {
    return std::make_shared<StemRecipe>(plan, chain, streaming);
  });
}

}  // namespace fuseplan::cpu
