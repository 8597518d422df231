// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/plan.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/drained_output.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kStripVectors = 128;  // a strip's sums stay in the first-level cache

void cut_axes(Conv1x1Plan& plan) {
  const bool by_channel = plan.config.by_channel;
  const int lanes = plan.config.vectors, rows = plan.config.rows;
  plan.channels = Cut(plan.shape.outputs(), plan.channel_unit(), by_channel ? lanes : rows);
  plan.pixels =
      Cut(plan.config.images * plan.shape.pixels(), plan.pixel_unit(), by_channel ? rows : lanes);
  plan.block = ceil_div(plan.pixels.pieces(), ceil_div(plan.pixels.length(), plan.config.block));
  const std::int64_t vectors = std::int64_t{plan.channels.size()} * plan.pixels.size();
  plan.strip = std::clamp<std::int64_t>(kStripVectors / vectors, 1, plan.block);
}

// Lines a multiple of 4 KB apart would all compete for one set of the first-level cache.
std::int64_t spread(std::int64_t floats) { return floats % 256 == 0 ? floats + 16 : floats; }

void lay_out_stage(Conv1x1Plan& plan) {
  const Conv1x1Shape& shape = plan.shape;
  const bool readable = plan.config.by_channel || contiguous_along(shape.conv.input, 4);
  plan.staged = plan.config.staged || !shape.reads_in_place() || !readable;
  plan.stages_channels_inner =
      plan.staged && plan.config.by_channel && (!reads_planes(shape) || turns_planes(shape));
  if (!plan.staged) {
    plan.stage_pixel = shape.conv.input.stride[4];
    plan.stage_channel = shape.conv.input.stride[1];
  } else if (plan.stages_channels_inner) {
    plan.stage_channel = 1;
    plan.stage_pixel = spread(shape.inputs());
  } else if (reads_planes(shape)) {
    plan.panels = true;
    plan.stage_pixel = shape.inputs();
  } else {
    plan.stage_pixel = 1;
    plan.stage_channel = spread(plan.block_pixels());
  }
}

/// Leaves sums in scratch, as rows of vectors.
FinishSpec sums_spec(const Conv1x1Plan& plan) {
  FinishSpec spec;
  spec.body.roots = {spec.body.graph.leaf(Leaf::input)};
  spec.lanes_are_channels = plan.config.by_channel;
  const std::int64_t row = plan.sums_row() * kFloat;
  spec.output = {.channel = plan.config.by_channel ? kFloat : row,
                 .column = plan.config.by_channel ? row : kFloat};
  return spec;
}

ProductSpec base_spec(const Conv1x1Plan& plan, const SplitChain& chain) {
  ProductSpec spec;
  LoopSpec& loop = spec.loop;
  loop.isa = plan.shape.isa;
  loop.depth = plan.shape.inputs();
  spec.along_lanes = !plan.config.by_channel;
  if (plan.config.by_channel) {
    loop.scalars.depth = plan.stage_channel * kFloat;
    loop.scalars.row = (plan.panels ? 1 : plan.stage_pixel) * kFloat;
    // Of blocks with many pieces of channels, most are read from the second-level cache anyway.
    spec.prefetch_scalars = !plan.staged && plan.stage_channel == 1 &&
                            plan.stage_pixel == loop.depth && !plan.streams_weights();
    loop.prefetch_depths = !plan.staged && plan.stage_pixel == 1;
  } else {
    loop.vector_depth = plan.stage_channel * kFloat;
    loop.scalars.row = kFloat;
    spec.guarded_vectors = !plan.staged;
    spec.prefetch_vectors = !plan.panels;  // channels of the next tile lie in as many pages
  }
  spec.prefetch_output = plan.finishes;
  spec.finish = plan.finishes ? finish_spec(plan.shape.tensors(), chain) : sums_spec(plan);
  return spec;
}

/// A block's tiles divide the next piece's weights among them.
void spread_prefetch(const Conv1x1Plan& plan, int pixel_kind, std::int64_t piece_bytes,
                     ProductSpec& spec) {
  if (!plan.streams_weights()) return;
  constexpr std::int64_t kLine = 64;
  spec.slice = round_up(piece_bytes / plan.block, kLine);
  if (plan.block >= plan.pixels.pieces() && pixel_kind > 0)
    spec.first_slice = plan.pixels.kind_end(pixel_kind - 1);
}

/// What the loop asks the caches for: a slice of weights, or the next tile's scalars.
void spread_ahead(ProductSpec& spec) {
  constexpr std::int64_t kFirstLevel = 16 << 10;
  LoopSpec& loop = spec.loop;
  const std::int64_t scalars = spec.prefetch_scalars ? loop.rows * loop.scalars.row : 0;
  loop.ahead_bytes = std::max(scalars, spec.slice);
  loop.ahead_to_first_level = scalars > 0 && scalars <= kFirstLevel;
}

void list_kernels(Conv1x1Plan& plan, const SplitChain& chain) {
  const ProductSpec base = base_spec(plan, chain);
  const bool by_channel = plan.config.by_channel;
  for (int c = 0; c < Cut::kKinds; ++c)
    for (int p = 0; p < Cut::kKinds; ++p) {
      const int channels = plan.channels.kind_size(c), pixels = plan.pixels.kind_size(p);
      if (channels == 0 || pixels == 0) continue;
      ProductSpec spec = base;
      LoopSpec& loop = spec.loop;
      loop.rows = by_channel ? pixels : channels;
      loop.vectors = by_channel ? channels : pixels;
      loop.tail = by_channel ? plan.channels.kind_tail(c) : plan.pixels.kind_tail(p);
      // Weights are packed as wide as the kernel that reads them.
      (by_channel ? loop.vector_depth : loop.scalars.depth) =
          channels * plan.channel_unit() * kFloat;
      const std::int64_t width = pixels * plan.pixel_unit();
      if (plan.panels) (by_channel ? loop.scalars.depth : loop.vector_depth) = width * kFloat;
      spec.tile_step = width * (by_channel || plan.panels ? plan.stage_pixel : 1) * kFloat;
      spread_prefetch(plan, p, channels * plan.channel_unit() * loop.depth * kFloat, spec);
      spread_ahead(spec);
      plan.kernel[c][p] = static_cast<int>(plan.specs.size());
      plan.specs.push_back(spec);
    }
}

}  // namespace

bool Conv1x1Plan::streams_weights() const {
  constexpr std::int64_t kKept = 512 << 10;
  return shape.outputs() * shape.inputs() * kFloat > kKept;
}

std::int64_t Conv1x1Plan::stage_floats(std::int64_t pieces) const {
  // Planes are turned square by square: columns behind the last pixel have a place, too.
  const std::int64_t behind = stages_channels_inner ? shape.lanes() : 0;
  return std::max((pieces * pixels.size() * pixel_unit() + behind) * stage_pixel,
                  shape.inputs() * stage_channel);
}

Conv1x1Plan conv1x1_plan(const Conv1x1Shape& shape, const SplitChain& chain,
                         const Conv1x1Config& config) {
  Conv1x1Plan plan;
  plan.config = config;
  plan.shape = shape;
  cut_axes(plan);
  lay_out_stage(plan);
  plan.turned = config.by_channel && !shape.lanes_are_channels;
  plan.finishes = !plan.turned && config.images == 1 && is_applied_in_registers(chain.body);
  list_kernels(plan, chain);
  return plan;
}

void stream_output(Conv1x1Plan& plan) {
  for (ProductSpec& spec : plan.specs) {
    spec.prefetch_output = false;
    spec.finish.streaming = true;
  }
}

std::int64_t Conv1x1Plan::region_bytes(std::int64_t piece) const {
  return (channels.end(piece) - channels.first(piece)) * shape.pixels() *
         static_cast<std::int64_t>(size_of(shape.output));
}

bool drains_planes(const Conv1x1Plan& plan) {
  return !plan.config.by_channel && plan.config.images == 1 && plan.block >= plan.pixels.pieces() &&
         plan.region_bytes(0) <= kMostRegionBytes && channels_are_runs(plan.shape.conv.output) &&
         !is_made_of_lines(plan.shape.tensors());
}

void drain_output(Conv1x1Plan& plan) {
  plan.drains = true;
  for (ProductSpec& spec : plan.specs) {
    spec.prefetch_output = false;
    spec.finish.drains = true;
  }
}

}  // namespace fuseplan::cpu
