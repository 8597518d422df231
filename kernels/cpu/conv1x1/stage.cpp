// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/stage.hpp"

#include <algorithm>
#include <span>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

/// Output pixels of one row, one after the other.
struct Run {
  std::int64_t input;  ///< element of the first, first channel
  std::int64_t step;   ///< from one to the next
  std::int64_t pixel;  ///< where they go
  std::int64_t count;
};

std::span<const Run> runs_of(const Conv1x1Plan& plan, std::int64_t first, std::int64_t end,
                             Scratch& scratch) {
  const Conv1x1Shape& shape = plan.shape;
  const ConvGeometry& conv = shape.conv;
  const View& view = conv.input;
  const std::int64_t height = shape.output_lens[1], width = shape.output_lens[2];
  const std::int64_t row = shape.flat ? shape.pixels() : width;
  Run* runs = scratch.take_array<Run>(static_cast<std::size_t>((end - first) / row + 2));
  std::size_t count = 0;
  const std::int64_t step = conv.stride[2] * view.stride[4];
  plan.for_each_image(
      first, end, [&](std::int64_t image, std::int64_t from, std::int64_t to, std::int64_t before) {
        const std::int64_t base = image * view.stride[0];
        if (shape.flat) runs[count++] = {base + from * step, step, before, to - from};
        for (std::int64_t pixel = shape.flat ? to : from; pixel < to;) {
          const std::int64_t column = pixel % width, line = pixel / width % height;
          const std::int64_t plane = pixel / width / height;
          const std::int64_t length = std::min(width - column, to - pixel);
          runs[count++] = {base + plane * conv.stride[0] * view.stride[2] +
                               line * conv.stride[1] * view.stride[3] + column * step,
                           step, before + pixel - from, length};
          pixel += length;
        }
      });
  return {runs, count};
}

void copy_pixels(const Conv1x1Plan& plan, const Moves& moves, const std::byte* image,
                 std::span<const Run> runs, float* scratch) {
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  for (const Run& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      moves.widen(image + (run.input + i * run.step) * bytes, 1,
                  scratch + (run.pixel + i) * plan.stage_pixel, plan.shape.inputs());
}

/// The rows of one channel's plane.
class PlaneRows {
 public:
  PlaneRows(const Conv1x1Plan& plan, const Moves& moves, const std::byte* image,
            std::span<const Run> runs)
      : moves_(moves),
        image_(image),
        runs_(runs),
        channels_(plan.shape.inputs()),
        channel_step_(plan.shape.conv.input.stride[1]),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.input))) {}

  std::int64_t pixels() const { return runs_.back().pixel + runs_.back().count; }
  const std::byte* at(const Run& run, std::int64_t channel) const {
    return image_ + (run.input + channel * channel_step_) * bytes_;
  }

  void ask_for(std::int64_t channel) const {
    if (channel >= channels_) return;
    const RowsAhead ahead(runs_.front().step, channel_step_, bytes_);
    for (const Run& run : runs_) ahead.ask(at(run, channel), run.count);
  }
  void copy(std::int64_t channel, float* to) const {
    for (const Run& run : runs_)
      moves_.widen(at(run, channel), run.step, to + run.pixel, run.count);
  }

 private:
  const Moves& moves_;
  const std::byte* image_;
  std::span<const Run> runs_;
  std::int64_t channels_, channel_step_, bytes_;
};

/// Lines of as many planes as a vector has lanes become squares. The last planes are turned a
/// second time if they are fewer.
void turn_planes(const Conv1x1Plan& plan, const Moves& moves, const PlaneRows& rows, float* scratch,
                 Scratch& lists) {
  const std::int64_t channels = plan.shape.inputs(), lanes = moves.lanes;
  const std::int64_t pitch = round_up(rows.pixels(), lanes) | lanes;  // no multiple of 4 KB
  float* lines = lists.take_array<float>(static_cast<std::size_t>(lanes * pitch));
  for (std::int64_t c = 0; c < channels; c += lanes) {
    const std::int64_t first = std::min(c, channels - lanes);
    for (std::int64_t i = 0; i < lanes; ++i) {
      rows.ask_for(first + i + kPlanesAhead);
      rows.copy(first + i, lines + i * pitch);
    }
    moves.turn(lines, pitch, lanes, rows.pixels(), scratch + first, plan.stage_pixel);
  }
}

/// A channel at a time: its rows are near each other.
void copy_planes(const Conv1x1Plan& plan, const PlaneRows& rows, float* scratch) {
  for (std::int64_t c = 0; c < plan.shape.inputs(); ++c) {
    rows.ask_for(c + kPlanesAhead);
    rows.copy(c, scratch + c * plan.stage_channel);
  }
}

/// Neighbouring panels that are equally wide, of a block.
struct Panels {
  std::int64_t first, end;  ///< pixels
  std::int64_t width;
};
/// The last of them may be wider than it has pixels.
std::span<const Panels> panels_of(const Cut& pixels, std::int64_t first, std::int64_t end,
                                  Scratch& scratch) {
  Panels* panels = scratch.take_array<Panels>(Cut::kKinds);
  std::size_t count = 0;
  std::int64_t piece = pixels.piece_at(first);
  for (std::int64_t at = first; at < end; ++piece) {
    const std::int64_t next = pixels.first(piece + 1), width = next - at;
    if (count > 0 && panels[count - 1].width == width)
      panels[count - 1].end = std::min(next, end) - first;
    else
      panels[count++] = {at - first, std::min(next, end) - first, width};
    at = next;
  }
  return {panels, count};
}

/// A channel at a time as well, which is dealt out to the panels.
void copy_panels(const Conv1x1Plan& plan, const Moves& moves, const PlaneRows& rows,
                 std::span<const Run> runs, std::span<const Panels> panels, float* scratch,
                 Scratch& lists) {
  const std::int64_t channels = plan.shape.inputs();
  const bool in_place =
      runs.size() == 1 && runs.front().step == 1 && plan.shape.input == DType::f32;
  auto* row = lists.take_array<float>(in_place ? 0 : static_cast<std::size_t>(rows.pixels()));
  for (std::int64_t c = 0; c < channels; ++c) {
    rows.ask_for(c + kPlanesAhead);
    if (!in_place) rows.copy(c, row);
    const auto* from = in_place ? reinterpret_cast<const float*>(rows.at(runs.front(), c)) : row;
    for (const Panels& equal : panels)
      moves.deal(from + equal.first, equal.end - equal.first, equal.width,
                 scratch + equal.first * channels + c * equal.width, channels * equal.width);
  }
}

/// Pixels of contiguous channels become planes, by squares of as many pixels and channels as a
/// vector has lanes. The last of either are turned a second time if they are fewer.
void turn_pixels(const Conv1x1Plan& plan, const Moves& moves, const std::byte* image,
                 std::span<const Run> runs, float* scratch, Scratch& lists) {
  const std::int64_t channels = plan.shape.inputs(), lanes = moves.lanes;
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  const bool is_f32 = plan.shape.input == DType::f32;
  const std::int64_t pitch = round_up(channels, lanes) | lanes;  // no multiple of 4 KB
  float* lines =
      is_f32 ? nullptr : lists.take_array<float>(static_cast<std::size_t>(lanes * pitch));
  const std::int64_t whole = channels / lanes * lanes;
  for (const Run& run : runs)
    for (std::int64_t i = 0; i < run.count; i += lanes) {
      const std::int64_t first = std::min(i, run.count - lanes);
      const std::byte* pixels = image + (run.input + first * run.step) * bytes;
      for (std::int64_t p = 0; p < lanes && !is_f32; ++p)
        moves.widen(pixels + p * run.step * bytes, 1, lines + p * pitch, channels);
      const auto* from = is_f32 ? reinterpret_cast<const float*>(pixels) : lines;
      const std::int64_t step = is_f32 ? run.step : pitch;
      float* to = scratch + run.pixel + first;
      moves.turn(from, step, lanes, whole, to, plan.stage_channel);
      if (whole < channels)
        moves.turn(from + channels - lanes, step, lanes, lanes,
                   to + (channels - lanes) * plan.stage_channel, plan.stage_channel);
    }
}

/// Whether there are squares of pixels whose channels are contiguous.
bool can_turn_pixels(const Conv1x1Plan& plan, const Moves& moves, std::span<const Run> runs) {
  return plan.shape.conv.input.stride[1] == 1 && plan.shape.inputs() >= moves.lanes &&
         std::ranges::all_of(runs, [&](const Run& run) { return run.count >= moves.lanes; });
}

}  // namespace

void stage_pixels(const Conv1x1Plan& plan, const Moves& moves, const std::byte* window,
                  std::int64_t first, std::int64_t end, float* scratch) {
  Scratch lists;
  const std::span<const Run> runs = runs_of(plan, first, end, lists);
  if (!plan.stages_channels_inner && can_turn_pixels(plan, moves, runs))
    return turn_pixels(plan, moves, window, runs, scratch, lists);
  if (plan.stages_channels_inner && !reads_planes(plan.shape))
    return copy_pixels(plan, moves, window, runs, scratch);
  const PlaneRows rows(plan, moves, window, runs);
  if (plan.panels)
    return copy_panels(plan, moves, rows, runs, panels_of(plan.pixels, first, end, lists), scratch,
                       lists);
  if (!plan.stages_channels_inner) return copy_planes(plan, rows, scratch);
  turn_planes(plan, moves, rows, scratch, lists);
}

}  // namespace fuseplan::cpu
