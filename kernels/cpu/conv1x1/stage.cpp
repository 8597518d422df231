// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/stage.hpp"

#include <algorithm>
#include <span>

#include "base/memory.hpp"

namespace fuseplan::cpu {
namespace {

/// Output pixels of one row, one after the other.
struct Run {
  std::int64_t input;  ///< element of the first, first channel
  std::int64_t step;   ///< from one to the next
  std::int64_t pixel;  ///< where they go
  std::int64_t count;
};

std::span<const Run> runs_of(const Conv1x1Shape& shape, std::int64_t first, std::int64_t end,
                             Scratch& scratch) {
  const ConvGeometry& conv = shape.conv;
  const View& view = conv.input;
  const std::int64_t height = shape.output_lens[1], width = shape.output_lens[2];
  const auto most = static_cast<std::size_t>((end - first) / width + 2);
  Run* runs = scratch.take_array<Run>(most);
  std::size_t count = 0;
  if (shape.flat) runs[count++] = {first * view.stride[4], view.stride[4], 0, end - first};
  for (std::int64_t pixel = shape.flat ? end : first; pixel < end;) {
    const std::int64_t column = pixel % width, row = pixel / width % height;
    const std::int64_t plane = pixel / width / height;
    const std::int64_t step = conv.stride[2] * view.stride[4];
    const std::int64_t length = std::min(width - column, end - pixel);
    runs[count++] = {plane * conv.stride[0] * view.stride[2] +
                         row * conv.stride[1] * view.stride[3] + column * step,
                     step, pixel - first, length};
    pixel += length;
  }
  return {runs, count};
}

}  // namespace

void stage_pixels(const Conv1x1Plan& plan, const Moves& moves, const std::byte* image,
                  std::int64_t first, std::int64_t end, float* scratch) {
  const std::int64_t channels = plan.shape.inputs();
  const std::int64_t channel_step = plan.shape.conv.input.stride[1];
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  Scratch lists;
  const std::span<const Run> runs = runs_of(plan.shape, first, end, lists);
  if (plan.stages_channels_inner) {
    for (const Run& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        moves.widen(image + (run.input + i * run.step) * bytes, channel_step,
                    scratch + (run.pixel + i) * plan.stage_pixel, channels);
    return;
  }
  // A channel at a time: its rows are near each other.
  for (std::int64_t c = 0; c < channels; ++c)
    for (const Run& run : runs)
      moves.widen(image + (run.input + c * channel_step) * bytes, run.step,
                  scratch + run.pixel + c * plan.stage_channel, run.count);
}

}  // namespace fuseplan::cpu
