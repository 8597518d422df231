// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/stage.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

/// Output pixels of one row, one after the other.
struct Run {
  std::int64_t input;  ///< element of the first, first channel
  std::int64_t step;   ///< from one to the next
  std::int64_t pixel;  ///< where they go
  std::int64_t count;
};

template <typename F>
void for_each_run(const Conv1x1Shape& shape, std::int64_t first, std::int64_t end, const F& visit) {
  const ConvGeometry& conv = shape.conv;
  const View& view = conv.input;
  if (shape.flat) return visit(Run{first * view.stride[4], view.stride[4], 0, end - first});
  const auto& [depth, height, width] = shape.output_lens;
  const std::int64_t step = conv.stride[2] * view.stride[4];
  for (std::int64_t pixel = first; pixel < end;) {
    const std::int64_t column = pixel % width, row = pixel / width % height;
    const std::int64_t plane = pixel / width / height;
    const std::int64_t count = std::min(width - column, end - pixel);
    visit(Run{plane * conv.stride[0] * view.stride[2] + row * conv.stride[1] * view.stride[3] +
                  column * step,
              step, pixel - first, count});
    pixel += count;
  }
}

}  // namespace

void stage_pixels(const Conv1x1Plan& plan, const Moves& moves, const float* image,
                  std::int64_t first, std::int64_t end, float* scratch) {
  const std::int64_t channels = plan.shape.inputs();
  const std::int64_t channel_step = plan.shape.conv.input.stride[1];
  for_each_run(plan.shape, first, end, [&](const Run& run) {
    if (plan.stage_channel == 1) {
      for (std::int64_t i = 0; i < run.count; ++i)
        moves.widen(image + run.input + i * run.step, channel_step,
                    scratch + (run.pixel + i) * plan.stage_pixel, channels);
    } else {
      for (std::int64_t c = 0; c < channels; ++c)
        moves.widen(image + run.input + c * channel_step, run.step,
                    scratch + run.pixel + c * plan.stage_channel, run.count);
    }
  });
}

}  // namespace fuseplan::cpu
