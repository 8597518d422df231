// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/status.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/winograd/launch.hpp"
#include "kernels/cpu/winograd/output.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// From one tile's input to the next one's, where that is to be asked for: a tile's pixels lie
/// apart, each with all its channels, and are too short for hardware to see where they go on. From
/// the second-level cache it would gain nothing.
std::int64_t next_tile_bytes(const WinogradPlan& plan) {
  const View& input = plan.shape.conv.input;
  const auto size = static_cast<std::int64_t>(size_of(plan.shape.input));
  if (!plan.input_channels_last() || input.elements() * size < kFarBytes) return 0;
  return plan.column_spread.first(1) * plan.columns->stride * input.stride[4] * size;
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
    const auto& [isa, rows, columns] = std::tie(plan_.isa, *plan_.rows, *plan_.columns);
    // A staged tile is in f32 already.
    const DType input = plan_.input_channels_last() ? plan_.shape.input : DType::f32;
    functions.push_back(
        {"winograd_input",
         emit_input_transform(isa, input, rows, columns, plan_.values_stride() * kFloat,
                              plan_.inputs() % plan_.lanes() == 0, next_tile_bytes(plan_))});
    functions.push_back(
        {"winograd_output",
         emit_output_transform(isa, rows, columns, OutputTransform::strides(plan_))});
    functions.push_back({"winograd_filter", emit_filter_transform(isa, rows, columns, false)});
    if (streams_weights(plan_))
      functions.push_back(
          {"winograd_filter_streaming", emit_filter_transform(isa, rows, columns, true)});
    functions.push_back({"winograd_rows", emit_rows(pixel_rows())});
    if (!chain_.channels.roots.empty())
      functions.push_back(
          {"winograd_channels", emit_channel_prologue(chain_, plan_.isa, plan_.outputs())});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return winograd_program(plan_, chain_, entries);
  }

 private:
  /// Whole tiles of channels-last outputs are rows of one length.
  RowsSpec pixel_rows() const {
    RowsSpec rows = rows_spec(plan_.shape.tensors(), chain_, plan_.isa);
    const bool is_whole = plan_.outputs() % plan_.width() == 0;
    if (rows.lanes_are_channels && is_whole) rows.lanes = plan_.width();
    return rows;
  }

  WinogradPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::shared_ptr<const Recipe> winograd_recipe(const Problem& problem, const SplitChain& chain,
                                              Isa isa, const WinogradConfig& config) {
  require(tile_fits(isa, config.pixels, config.vectors), Status::BadParm,
          "products of {}x{} do not fit the registers of {}", config.pixels, config.vectors,
          name_of(isa));
  const DirectShape shape = direct_shape(problem, chain);
  const auto is_configured = [&](const TileAxes& tile) {
    return tile.rows->outputs == config.rows && tile.columns->outputs == config.columns;
  };
  require(std::ranges::any_of(winograd_axes(shape.conv), is_configured), Status::BadParm,
          "there are no tiles of {}x{} outputs for a {}x{} filter", config.rows, config.columns,
          shape.conv.filter[1], shape.conv.filter[2]);
  require(config.pixels >= shape.conv.dilation[2], Status::BadParm,
          "products of {} tiles are of no whole run of them under dilation {}", config.pixels,
          shape.conv.dilation[2]);
  return std::make_shared<WinogradRecipe>(winograd_plan(shape, isa, config), chain);
}

}  // namespace fuseplan::cpu
