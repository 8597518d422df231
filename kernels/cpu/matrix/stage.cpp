// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/stage.hpp"

#include <algorithm>
#include <cstring>

#include "base/integer.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {
namespace {

void clear(std::byte* to, std::int64_t bytes) {
  if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
}

/// Entries `phase`, `phase` + `phases`, ... of an axis.
StagedAxis phase_of(const StagedAxis& axis, std::int64_t phase, std::int64_t phases) {
  const auto entries_before = [&](std::int64_t end) {
    return std::max<std::int64_t>(0, ceil_div(std::max<std::int64_t>(0, end - phase), phases));
  };
  return {axis.index(phase), axis.step * phases, entries_before(axis.begin),
          entries_before(axis.end), entries_before(axis.length)};
}

std::int64_t joined_row_bytes(const MatrixPlan& plan) {
  return staged_length(plan.source, 2, plan.block_columns) * plan.source.group_inputs *
         plan.source_element();
}

}  // namespace

MatrixStager::MatrixStager(const MatrixPlan& plan, Scratch& scratch)
    : plan_(plan),
      copy_(tile_copy_for(plan.product)),
      gather_(pixel_copy_for(plan.source_element())),
      stage_(scratch.take_array<std::byte>(static_cast<std::size_t>(plan.stage.bytes))) {
  if (plan.config.by_plane) lanes_ = lane_copy_for(plan.product);
  if (plan.config.joined && !plan.overlaps_taps)
    row_ = scratch.take_array<std::byte>(static_cast<std::size_t>(joined_row_bytes(plan)));
}

const std::byte* MatrixStager::stage(const void* input, const MatrixWindow& window) {
  const ConvGeometry& conv = plan_.source;
  const auto& stride = conv.input.stride;
  for (std::int64_t i = 0; i < window.images; ++i) {
    const std::int64_t first =
        (window.image + i) * stride[0] + window.group * conv.group_inputs * stride[1];
    const auto* image = static_cast<const std::byte*>(input) + first * plan_.source_element();
    std::byte* to = stage_ + i * plan_.stage.image_bytes;
    plan_.config.by_plane ? stage_lanes(image, window, to) : stage_image(image, window, to);
  }
  return stage_;
}

void MatrixStager::stage_image(const std::byte* image, const MatrixWindow& window, std::byte* to) {
  const ConvGeometry& conv = plan_.source;
  const StagedAxis rows = staged_axis(conv, 1, window.row, window.rows);
  for_each_row(image, window, to, [&](const std::byte* from, std::int64_t row, std::byte* place) {
    if (plan_.config.joined) {
      join_row(from, window, row, place);
    } else if (from != nullptr) {
      copy_row(from, window, row + 1 < rows.end ? rows.step * conv.input.stride[3] : 0, place);
    } else {
      clear_row(window, place);
    }
  });
}

/// body(from, row, to) for all rows of the window; from nowhere if the image has none there.
template <typename F>
void MatrixStager::for_each_row(const std::byte* image, const MatrixWindow& window, std::byte* to,
                                const F& body) const {
  const ConvGeometry& conv = plan_.source;
  const auto& stride = conv.input.stride;
  const std::int64_t row_phases = staged_step(conv, 1);
  const StagedAxis rows = staged_axis(conv, 1, window.row, window.rows);
  for (std::int64_t d = 0; d < conv.filter[0]; ++d) {
    const std::int64_t plane =
        window.plane * conv.stride[0] - conv.pad_lo[0] + d * conv.dilation[0];
    const bool has_plane = 0 <= plane && plane < conv.input.len[2];
    for (std::int64_t h = 0; h < rows.length; ++h) {
      const bool exists = has_plane && rows.begin <= h && h < rows.end;
      const std::byte* from =
          image + (plane * stride[2] + rows.index(h) * stride[3]) * plan_.source_element();
      body(exists ? from : nullptr, h,
           to + d * plan_.stage.plane_bytes + plan_.stage.phase(plan_.shape.conv, h, 0) +
               h / row_phases * plan_.stage.row_bytes);
    }
  }
}

void MatrixStager::clear_row(const MatrixWindow& window, std::byte* to) {
  const StagedAxis columns = staged_axis(plan_.source, 2, window.column, window.columns);
  const std::int64_t phases = staged_step(plan_.source, 2);
  for (std::int64_t phase = 0; phase < phases; ++phase)
    clear(to + phase * plan_.stage.phase_bytes,
          phase_of(columns, phase, phases).length * plan_.stage.column_bytes);
}

/// Two planes after two: the rows of a plane are near each other.
void MatrixStager::stage_lanes(const std::byte* image, const MatrixWindow& window, std::byte* to) {
  const ConvGeometry& conv = plan_.source;
  const StagedAxis columns = staged_axis(conv, 2, window.column, window.columns);
  const std::int64_t element = plan_.source_element(), plane = conv.input.stride[1] * element;
  const std::int64_t phases = staged_step(conv, 2), count = columns.end - columns.begin;
  const std::int64_t first =
      count > 0 ? columns.index(columns.begin) * conv.input.stride[4] * element : 0;
  const RowsAhead ahead(columns.step * conv.input.stride[4], conv.input.stride[1], element);
  for (std::int64_t lane = 0; lane < plan_.steps * kTileRows; ++lane) {
    const std::int64_t channel = 2 * lane;
    const std::int64_t at =
        lane / kTileRows * plan_.step_bytes + lane % kTileRows * plan_.stage.lane_bytes;
    for_each_row(image, window, to, [&](const std::byte* from, std::int64_t, std::byte* place) {
      if (from != nullptr) from += channel * plane;
      for (std::int64_t i = kPlanesAhead; i < kPlanesAhead + 2; ++i)
        if (from != nullptr && channel + i < conv.group_inputs)
          ahead.ask(from + i * plane + first, count);
      for (std::int64_t phase = 0; phase < phases; ++phase)
        copy_lane(from, channel, phase_of(columns, phase, phases),
                  place + phase * plan_.stage.phase_bytes + at);
    });
  }
}

void MatrixStager::copy_lane(const std::byte* from, std::int64_t channel, const StagedAxis& columns,
                             std::byte* to) {
  const ConvGeometry& conv = plan_.source;
  const std::int64_t element = plan_.source_element(), channels = conv.group_inputs;
  const bool exists = from != nullptr && channel < channels;
  const std::int64_t begin = exists ? columns.begin : columns.length;
  const std::int64_t end = exists ? columns.end : columns.length;
  for (int piece = 0; piece < traits_of(plan_.product).pieces; ++piece) {
    std::byte* row = to + piece * plan_.piece_bytes;
    clear(row, begin * kLaneBytes);
    clear(row + end * kLaneBytes, (columns.length - end) * kLaneBytes);
  }
  if (begin >= end) return;
  const std::byte* even = from + columns.index(begin) * conv.input.stride[4] * element;
  const std::byte* odd = channel + 1 < channels ? even + conv.input.stride[1] * element : nullptr;
  lanes_({even, odd, columns.step * conv.input.stride[4], end - begin}, to + begin * kLaneBytes,
         plan_.piece_bytes);
}

void MatrixStager::copy_row(const std::byte* from, const MatrixWindow& window, std::int64_t next,
                            std::byte* to) {
  const ConvGeometry& conv = plan_.source;
  const StagedAxis columns = staged_axis(conv, 2, window.column, window.columns);
  const std::int64_t phases = staged_step(conv, 2), step = plan_.stage.column_bytes;
  for (std::int64_t phase = 0; phase < phases; ++phase, to += plan_.stage.phase_bytes) {
    const StagedAxis part = phase_of(columns, phase, phases);
    clear(to, part.begin * step);
    clear(to + part.end * step, (part.length - part.end) * step);
    const PixelBlock block{part.end - part.begin, conv.group_inputs,
                           part.step * conv.input.stride[4], conv.input.stride[1],
                           phase == 0 ? next : 0};
    if (block.pixels > 0)
      copy_(from + part.index(part.begin) * conv.input.stride[4] * plan_.source_element(), block,
            {to + part.begin * step, step, plan_.steps * plan_.step_bytes});
  }
}

void MatrixStager::gather_row(const std::byte* from, const MatrixWindow& window, std::byte* to) {
  const ConvGeometry& conv = plan_.source;
  StagedAxis columns = staged_axis(conv, 2, window.column, window.columns);
  if (from == nullptr) columns.begin = columns.end = columns.length;
  const std::int64_t pixel = conv.group_inputs * plan_.source_element();
  clear(to, columns.begin * pixel);
  clear(to + columns.end * pixel, (columns.length - columns.end) * pixel);
  PixelBlock block{columns.end - columns.begin, conv.group_inputs,
                   columns.step * conv.input.stride[4], conv.input.stride[1]};
  PixelRows rows{to + columns.begin * pixel, pixel, pixel};
  // Pixels next to one another are one.
  if (block.channel_stride == 1 && block.pixel_stride == block.channels) {
    block.channels *= block.pixels;
    rows.width *= block.pixels;
    block.pixels = std::min<std::int64_t>(block.pixels, 1);
  }
  if (block.pixels > 0)
    gather_(from + columns.index(columns.begin) * conv.input.stride[4] * plan_.source_element(),
            block, rows);
}

void MatrixStager::join_row(const std::byte* from, const MatrixWindow& window, std::int64_t row,
                            std::byte* to) {
  if (plan_.overlaps_taps) return gather_row(from, window, to);
  const ConvGeometry& conv = plan_.source;
  gather_row(from, window, row_);
  const PixelBlock taps{window.columns, conv.filter[2] * conv.group_inputs,
                        conv.stride[2] * conv.group_inputs, 1};
  const std::int64_t before = row % plan_.joined_rows * plan_.row_channels() * plan_.element();
  copy_(row_, taps,
        {to + before, plan_.stage.column_bytes, plan_.steps * plan_.step_bytes - before});
}

}  // namespace fuseplan::cpu
