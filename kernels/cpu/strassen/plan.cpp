// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/plan.hpp"

#include <algorithm>
#include <limits>

#include "base/integer.hpp"
#include "kernels/cpu/emit/expr_code.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kLine = 16;           // floats of a cache line
constexpr std::int64_t kStripVectors = 128;  // a strip's sums stay in the first-level cache

void cut_axes(StrassenPlan& plan) {
  const auto& [by_channel, rows, vectors, block, staged] = plan.config;
  const std::int64_t outputs = plan.shape.outputs(), pixels = plan.shape.pixels();
  plan.channels = by_channel ? Halves::of_lanes(outputs, plan.shape.lanes(), vectors)
                             : Halves::of_rows(outputs, rows);
  plan.pixels = by_channel ? Halves::of_rows(pixels, rows)
                           : Halves::of_lanes(pixels, plan.shape.lanes(), vectors);
  plan.block = ceil_div(plan.pixels.pieces(), ceil_div(pixels, block));
  const std::int64_t sums =
      4 * plan.channels.most_width() * plan.pixels.most_width() / plan.shape.lanes();
  plan.strip = std::clamp<std::int64_t>(kStripVectors / sums, 1, plan.block);
}

PairTileSpec::Input input_of(const StrassenPlan& plan) {
  using Input = PairTileSpec::Input;
  const auto& [by_channel, rows, vectors, block, staged] = plan.config;
  if (staged || !strassen_reads_in_place(plan.shape, by_channel)) return Input::staged;
  return by_channel ? Input::scalars : Input::vectors;
}

void lay_out_input(StrassenPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  plan.half = ceil_div(conv.group_inputs, 2);
  plan.input = input_of(plan);
  plan.channels_inner = plan.config.by_channel && conv.input.stride[1] == 1;
  plan.section = strassen_section(plan.half);
  // Rows a multiple of 4 KB apart would all compete for one set of the first-level cache.
  plan.stage_row = round_up(plan.section, kLine);
  if (plan.stage_row % 256 == 0) plan.stage_row += kLine;
}

/// Leaves sums in scratch.
FinishSpec sums_spec(const StrassenPlan& plan) {
  FinishSpec spec;
  spec.body.roots = {spec.body.graph.leaf(Leaf::input)};
  spec.lanes_are_channels = plan.config.by_channel;
  const std::int64_t row = 2 * plan.sums_lanes() * kFloat;
  spec.output = {.channel = plan.config.by_channel ? kFloat : row,
                 .column = plan.config.by_channel ? row : kFloat};
  return spec;
}

void place_halves(const StrassenPlan& plan, PairTileSpec& spec) {
  const Halves& lanes = plan.config.by_channel ? plan.channels : plan.pixels;
  spec.row_distance = spec.loop.rows;
  spec.lane_distance = plan.finishes ? lanes.distance(0) : plan.sums_lanes();
}

void place_input(const StrassenPlan& plan, PairTileSpec& spec) {
  const View& view = plan.shape.conv.input;
  spec.input = plan.input;
  spec.input_channels = plan.half * view.stride[1] * kFloat;
  spec.input_scalars = {.depth = view.stride[1] * kFloat, .row = view.stride[4] * kFloat};
  spec.input_pixels =
      (plan.config.by_channel ? spec.loop.rows : plan.pixels.distance(0)) * view.stride[4] * kFloat;
}

/// Of the pieces of these kinds.
PairTileSpec pair_tile_spec(const StrassenPlan& plan, int channel_kind, int pixel_kind,
                            std::int64_t depth) {
  const bool by_channel = plan.config.by_channel;
  const Halves& rows = by_channel ? plan.pixels : plan.channels;
  const Halves& lanes = by_channel ? plan.channels : plan.pixels;
  const int row_kind = by_channel ? pixel_kind : channel_kind;
  const int lane_kind = by_channel ? channel_kind : pixel_kind;
  PairTileSpec spec;
  LoopSpec& loop = spec.loop;
  loop.isa = plan.shape.isa;
  const std::int64_t lane_count = plan.shape.lanes();
  loop.rows = rows.kind_size(row_kind);
  loop.vectors = lanes.kind_size(lane_kind);
  loop.tail = lanes.kind_tail(lane_kind);
  loop.depth = depth;
  spec.lacks_row = rows.kind_tail(row_kind) == 1;
  spec.along_lanes = !by_channel;
  loop.vector_depth = loop.vectors * lane_count * kFloat;
  if (plan.input == PairTileSpec::Input::vectors) loop.turn = 28;  // there are seven of them
  if (plan.input == PairTileSpec::Input::vectors)
    loop.vector_depth = plan.shape.conv.input.stride[1] * kFloat;
  if (!by_channel)
    loop.scalars = {.depth = loop.rows * kFloat, .row = kFloat};
  else if (plan.channels_inner)
    loop.scalars = {.depth = kFloat, .row = plan.stage_row * kFloat};
  else
    loop.scalars = {.depth = round_up(loop.rows, lane_count) * kFloat, .row = kFloat};
  constexpr std::int64_t kSpread = StrassenPlan::kSpread * kFloat;
  // Weights are as deep as this section; what is staged has the places of a whole one.
  const std::int64_t vectors_depth = by_channel ? loop.depth : plan.section;
  const std::int64_t scalars_depth = by_channel ? plan.section : loop.depth;
  spec.vector_product = vectors_depth * loop.vector_depth + kSpread;
  spec.scalar_product = by_channel && plan.channels_inner
                            ? loop.rows * loop.scalars.row
                            : scalars_depth * loop.scalars.depth + kSpread;
  spec.tile = plan.staged_products() * plan.most_stage_product() * kFloat;
  if (plan.input == PairTileSpec::Input::vectors) spec.tile = loop.vectors * lane_count * kFloat;
  place_halves(plan, spec);
  place_input(plan, spec);
  spec.continues = plan.sections() > 1;
  spec.kept = plan.kept_sums() * kFloat;
  return spec;
}

/// Blocks of pixels in NHWC, or whole images.
std::int64_t contiguous_block_bytes(const StrassenPlan& plan) {
  const Conv1x1Shape& shape = plan.shape;
  const View& input = shape.conv.input;
  if (plan.staged_products() == 0 || !shape.reads_in_place()) return 0;
  if (input.stride[1] == 1 && input.stride[4] == shape.inputs())
    return plan.block * 2 * plan.pixels.most_width() * shape.inputs() * kFloat;
  const bool whole = plan.block >= plan.pixels.pieces();
  const bool dense = input.stride[4] == 1 && input.stride[1] == shape.pixels();
  return whole && dense && shape.images() > 1 ? shape.pixels() * shape.inputs() * kFloat : 0;
}

/// Decides what kernels ask for: weights that come from behind the second-level cache, and input.
/// Weights can be raw: then those of both halves of a piece lie apart.
void look_ahead(StrassenPlan& plan) {
  constexpr std::int64_t kKept = 512 << 10;
  const bool streams = plan.weight_floats() * kFloat > kKept;
  plan.asks_for_halves = streams && plan.takes_raw_weights();
  plan.block_bytes = plan.asks_for_halves ? 0 : contiguous_block_bytes(plan);
}

/// A block's tiles divide the next piece's weights among them, and all tiles of a block with all
/// pieces of channels the next block's input.
void spread_prefetch(const StrassenPlan& plan, int pixel_kind, PairTileSpec& spec) {
  constexpr std::int64_t kKept = 512 << 10, kLineBytes = 64;
  const std::int64_t pieces = plan.channels.pieces();
  if (plan.weight_floats() * kFloat > kKept) {
    const std::int64_t product = plan.config.by_channel ? spec.vector_product : spec.scalar_product;
    const std::int64_t bytes = kStrassenProducts * product / (plan.asks_for_halves ? 2 : 1);
    spec.slice = round_up(bytes / plan.block, kLineBytes);
    if (plan.asks_for_halves) spec.input_slice = spec.slice;
  }
  if (plan.block_bytes > 0)
    spec.input_slice =
        round_up(plan.block_bytes / (plan.block * pieces * plan.sections()), kLineBytes);
  if (plan.block >= plan.pixels.pieces() && pixel_kind > 0)
    spec.first_slice = plan.pixels.kind_end(pixel_kind - 1);
  spec.loop.ahead_bytes = ceil_div(spec.slice, kStrassenProducts);
  spec.loop.other_ahead_bytes = ceil_div(spec.input_slice, kStrassenProducts);
}

void list_kernels(StrassenPlan& plan, const SplitChain& chain) {
  const FinishSpec finish =
      plan.finishes ? finish_spec(plan.shape.tensors(), chain) : sums_spec(plan);
  for (int c = 0; c < Halves::kKinds; ++c)
    for (int p = 0; p < Halves::kKinds; ++p) {
      if (plan.channels.kind_size(c) == 0 || plan.pixels.kind_size(p) == 0) continue;
      const auto add = [&](std::int64_t section) {
        PairTileSpec spec = pair_tile_spec(plan, c, p, plan.depth(section));
        spec.finish = finish;
        spec.prefetch_output = plan.finishes;
        spread_prefetch(plan, p, spec);
        plan.specs.push_back(spec);
        return static_cast<int>(plan.specs.size()) - 1;
      };
      const std::int64_t last = plan.sections() - 1;
      plan.kernel[c][p] = add(0);
      plan.last_kernel[c][p] = plan.depth(last) == plan.depth(0) ? plan.kernel[c][p] : add(last);
    }
}

/// From one quarter of the input to another, and on through a turn of the loop and a tile.
bool quarters_are_within_reach(const Conv1x1Shape& shape) {
  constexpr double kReach = std::numeric_limits<std::int32_t>::max();
  constexpr double kDepths = 16, kRows = 64;
  const View& input = shape.conv.input;
  const double channels = static_cast<double>(ceil_div(shape.inputs(), 2)) + kDepths;
  const double pixels = static_cast<double>(ceil_div(shape.pixels(), 2)) + kRows;
  return kFloat * (channels * static_cast<double>(input.stride[1]) +
                   pixels * static_cast<double>(input.stride[4])) <
         kReach;
}

}  // namespace

std::int64_t strassen_section(std::int64_t half) {
  constexpr std::int64_t kWhole = 256, kUsual = 128;
  if (half <= kWhole) return half;
  return round_up(ceil_div(half, ceil_div(half - kUsual / 2, kUsual)), kLine);
}

bool strassen_has_halves(const Conv1x1Shape& shape, bool by_channel) {
  if (by_channel) return shape.outputs() % 2 == 0;
  return shape.pixels() % 2 == 0 && !shape.lanes_are_channels && shape.conv.input.stride[1] != 1;
}

bool strassen_reads_in_place(const Conv1x1Shape& shape, bool by_channel) {
  const bool whole = shape.pixels() % 2 == 0 && shape.inputs() % 2 == 0;
  return shape.reads_in_place() && whole && quarters_are_within_reach(shape) &&
         (by_channel || contiguous_along(shape.conv.input, 4));
}

int StrassenPlan::staged_products() const {
  switch (input) {
    case PairTileSpec::Input::staged:
      return kStrassenProducts;
    case PairTileSpec::Input::scalars:
      return kStrassenSums;
    default:
      return 0;
  }
}

std::int64_t StrassenPlan::stage_product(std::int64_t piece) const {
  return channels_inner ? pixels.width(piece) * stage_row
                        : section * round_up(pixels.width(piece), shape.lanes()) + kSpread;
}

std::int64_t StrassenPlan::most_stage_product() const {
  return channels_inner ? pixels.most_width() * stage_row
                        : section * round_up(pixels.most_width(), shape.lanes()) + kSpread;
}

bool StrassenPlan::takes_raw_weights() const {
  constexpr std::int64_t kKept = 1 << 20;  // of input, while weights pass by
  return shape.images() == 1 &&
         (block >= pixels.pieces() || shape.conv.input.elements() * kFloat <= kKept);
}

std::int64_t StrassenPlan::weight_offset(std::int64_t of_section, std::int64_t piece) const {
  const auto width_before = [&](std::int64_t p) {
    return channels.first(p) / (config.by_channel ? 1 : 2);
  };
  const std::int64_t pieces = channels.pieces();
  return kStrassenProducts * (of_section * (section * width_before(pieces) + pieces * kSpread) +
                              depth(of_section) * width_before(piece) + piece * kSpread);
}

StrassenPlan strassen_plan(const Conv1x1Shape& shape, const SplitChain& chain,
                           const StrassenConfig& config) {
  StrassenPlan plan;
  plan.config = config;
  plan.shape = shape;
  cut_axes(plan);
  lay_out_input(plan);
  look_ahead(plan);
  plan.finishes = !plan.turned() && is_applied_in_registers(chain.body);
  list_kernels(plan, chain);
  return plan;
}

void stream_output(StrassenPlan& plan) {
  for (PairTileSpec& spec : plan.specs) {
    spec.prefetch_output = false;
    spec.finish.streaming = true;
  }
}

}  // namespace fuseplan::cpu
