// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/status.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/matrix/launch.hpp"
#include "kernels/cpu/matrix/suitability.hpp"
#include "kernels/cpu/matrix/tile_emitter.hpp"
#include "kernels/cpu/matrix/tuning.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

Product product_of(const DirectShape& shape) {
  std::size_t i = 0;
  while (i < std::size(kProducts) &&
         (kProducts[i].input != shape.input || kProducts[i].weights != shape.weights))
    ++i;
  require(i < std::size(kProducts), Status::BadParm, "matrix tiles do not multiply {} with {}",
          name_of(shape.input), name_of(shape.weights));
  return static_cast<Product>(i);
}

std::vector<View*> views_of(DirectShape& shape) {
  std::vector<View*> views{&shape.conv.input, &shape.conv.output};
  for (ElementView& element : shape.elements) views.push_back(&element.view);
  return views;
}

void merge_groups(ConvGeometry& conv, std::int64_t merged) {
  conv.groups /= merged;
  conv.group_inputs *= merged;
  conv.group_outputs *= merged;
}

/// Images' rows follow one another as the rows of an image do, also those that a stride takes.
/// Images of one row do wherever they lie.
bool images_follow(DirectShape& shape) {
  const ConvGeometry& conv = shape.conv;
  return std::ranges::all_of(conv.pad_lo, [](std::int64_t pad) { return pad == 0; }) &&
         conv.input.len[2] == 1 && conv.input.len[3] == conv.output.len[3] * conv.stride[1] &&
         std::ranges::all_of(views_of(shape), [](const View* view) {
           return view->len[3] == 1 || view->stride[0] == view->len[3] * view->stride[3];
         });
}

/// Filters of a single tap know no images: where those follow one another, their rows are rows of
/// one, so that windows and tiles run on. Large planes keep kernels busy by themselves.
DirectShape matrix_shape(const Problem& problem, const SplitChain& chain) {
  DirectShape shape = direct_shape(problem, chain);
  merge_groups(shape.conv, merged_groups(problem));
  const View& output = shape.conv.output;
  if (shape.taps() != 1 || output.len[0] == 1 || !images_follow(shape)) return shape;
  if (output.len[3] == 1 && output.len[4] >= kLargeImage) return shape;
  for (View* view : views_of(shape)) {
    if (view->len[3] == 1) view->stride[3] = view->stride[0];
    view->len[3] *= std::exchange(view->len[0], 1);
    view->stride[0] = 0;
  }
  return shape;
}

class MatrixRecipe final : public Recipe {
 public:
  MatrixRecipe(MatrixPlan plan, const SplitChain& chain) : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    functions.push_back(
        {"matrix_begin", emit_matrix_begin(plan_.grid, plan_.depth * plan_.element())});
    functions.push_back({"matrix_end", emit_matrix_end()});
    functions.push_back({"matrix_store", emit_matrix_store(plan_.grid)});
    for (const MatrixTileSpec& spec : plan_.specs())
      functions.push_back({fmt::format("matrix_tile_{}x{}", spec.tiles, spec.vectors),
                           emit_matrix_tile(spec, plan_.finish)});
    if (!plan_.in_strips) functions.push_back({"matrix_rows", emit_rows(rows())});
    for (const StripSpec& spec : plan_.strips())
      if (plan_.in_strips)
        functions.push_back({fmt::format("matrix_strip_{}x{}", spec.vectors, spec.last_lanes),
                             emit_strip_finisher(spec, plan_.finish)});
    if (!chain_.channels.roots.empty())
      functions.push_back(
          {"matrix_channels",
           emit_channel_prologue(chain_, Isa::avx512, plan_.shape.conv.output.len[1])});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return matrix_program(plan_, chain_, entries);
  }

 private:
  RowsSpec rows() const {
    RowsSpec spec =
        rows_spec(plan_.shape.tensors(), chain_, Isa::avx512, traits_of(plan_.product).sums);
    spec.bf16 = plan_.finish.bf16;
    spec.streaming = plan_.finish.streaming;
    return spec;
  }

  MatrixPlan plan_;
  SplitChain chain_;
};

}  // namespace

std::optional<std::string> matrix_refusal(const Problem& problem, const SplitChain& chain) {
  if (problem.conv() == nullptr) return "the plan has no convolution";
  return lane_refusal(matrix_shape(problem, chain).tensors());
}

std::vector<MatrixConfig> matrix_configs(const Problem& problem, const SplitChain& chain) {
  const DirectShape shape = matrix_shape(problem, chain);
  return matrix_tuning_space(shape, product_of(shape));
}

bool splits_numbers(const Problem& problem) {
  return traits_of(product_of(matrix_shape(problem, {}))).is_split();
}

std::int64_t merged_groups(const Problem& problem) {
  const ConvGeometry conv = geometry_of(problem);
  if (!is_byte(problem.input().dtype)) return 1;
  for (std::int64_t merged = std::min(conv.groups, kTileBytes / conv.group_inputs); merged > 1;
       --merged)
    if (conv.groups % merged == 0) return merged;
  return 1;
}

std::int64_t matrix_terms(const Problem& problem) {
  const DirectShape shape = matrix_shape(problem, {});
  return terms_of(shape, product_of(shape));
}

double matrix_speedup(const Problem& problem) {
  const DirectShape shape = matrix_shape(problem, {});
  return matrix_speedup(shape, product_of(shape));
}

std::shared_ptr<const Recipe> matrix_recipe(const Problem& problem, const SplitChain& chain,
                                            const MatrixConfig& config) {
  const DirectShape shape = matrix_shape(problem, chain);
  const Product product = product_of(shape);
  require(config.staged || reads_in_place(shape, product), Status::BadParm,
          "this input cannot be read where it lies");
  require(!config.by_plane || (config.staged && !config.joined && !config.by_row &&
                               config.grid == kSquareGrid && lies_by_plane(shape, product)),
          Status::BadParm, "tiles of this convolution are of pixels x channels");
  require(config.grid != kTallGrid || (config.staged && !config.by_row), Status::BadParm,
          "four tiles of pixels follow one another only where they are staged and run on");
  require(config.grid != kLargeGrid || !config.by_row, Status::BadParm,
          "three tiles of pixels follow one another only where they run on");
  require(!config.joined || joining_saves(shape, product), Status::BadParm,
          "there are no taps to join");
  const MatrixPlan plan = matrix_plan(shape, chain, product, config, merged_groups(problem));
  const std::int64_t farthest = std::max((traits_of(product).pieces - 1) * plan.piece_bytes,
                                         (plan.grid.pixels - 1) * kTileRows * plan.pixel_bytes);
  require(farthest <= std::numeric_limits<std::int32_t>::max(), Status::BadParm,
          "a window of {} bytes is out of an instruction's reach", plan.stage.bytes);
  const auto make = [&](bool streaming) {
    MatrixPlan made = plan;
    made.finish.streaming = streaming;
    return std::make_shared<MatrixRecipe>(std::move(made), chain);
  };
  // Rows align their own stores. Of strips, neighbouring vectors are stored together, and every
  // group begins with one.
  const std::int64_t lanes =
      config.by_plane ? kTileLanes
                      : std::gcd(shape.conv.group_outputs, std::int64_t{plan.grid.lanes()});
  // By halves of lines bf16 was slower.
  const bool f32 = shape.tensors().dtype == DType::f32;
  if (f32 && plan.finishes_planes() && !is_made_of_lines(shape.tensors()))
    return with_streamed_regions(shape.tensors(), chain, 0, make);
  const bool may_stream = config.by_plane || plan.in_strips;
  return may_stream ? with_streaming(shape.tensors(), chain, lanes, make) : make(false);
}

}  // namespace fuseplan::cpu
