// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kMostLanes = 16;

/// A piece of channels, squares of weights turned at a time.
class PiecePacker {
 public:
  PiecePacker(const Conv1x1Plan& plan, const void* raw, std::int64_t piece, float* packed,
              bool asked_for)
      : from_(raw_piece(plan, raw, piece)),
        to_(packed),
        output_step_(plan.shape.conv.weight_stride[0]),
        input_step_(plan.shape.conv.weight_stride[1]),
        inputs_(plan.shape.inputs()),
        outputs_(plan.channels.end(piece) - plan.channels.first(piece)),
        width_(plan.channels.first(piece + 1) - plan.channels.first(piece)),
        asked_for_(asked_for),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        is_float_(plan.shape.weights == DType::f32),
        moves_(moves_for(plan.shape.weights, plan.shape.isa)),
        square_(moves_.lanes) {}

  void pack() const {
    const std::int64_t squares = input_step_ == 1 ? inputs_ / square_ * square_ : 0;
    const std::int64_t whole = outputs_ / square_ * square_;
    for (std::int64_t output = 0; output < whole; output += square_) turn(output, squares);
    for (std::int64_t input = 0; whole < width_ && input < squares; input += square_)
      rest(whole, input);
    for (std::int64_t input = squares; input < inputs_; ++input) line(input);
  }

 private:
  const std::byte* from(std::int64_t output, std::int64_t input) const {
    return from_ + (output * output_step_ + input * input_step_) * bytes_;
  }

  /// f32 where it lies, other types in `widened`.
  const float* floats(const std::byte* from, std::int64_t count, float* widened) const {
    if (is_float_) return reinterpret_cast<const float*>(from);
    moves_.widen(from, 1, widened, count);
    return widened;
  }

  /// Squares of as many outputs as a vector has lanes.
  void turn(std::int64_t output, std::int64_t inputs) const {
    constexpr std::int64_t kAtOnce = 64;
    alignas(64) float widened[kMostLanes][kAtOnce];
    for (std::int64_t input = 0; input < inputs; input += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, inputs - input);
      if (!asked_for_) ask_for(output + square_, input, count);
      const float* lines = floats(from(output, input), count, widened[0]);
      for (std::int64_t i = 1; !is_float_ && i < square_; ++i)
        floats(from(output + i, input), count, widened[i]);
      moves_.turn(lines, is_float_ ? output_step_ : kAtOnce, square_, count,
                  to_ + input * width_ + output, width_);
    }
  }

  /// The same of the next square's outputs, which may not exist. Their weights are as many streams
  /// through memory, each too short for hardware to foresee.
  void ask_for(std::int64_t output, std::int64_t input, std::int64_t count) const {
    for (std::int64_t row = output; row < output + square_; ++row)
      prefetch_lines(from(row, input), count * bytes_);
  }

  /// A square of fewer outputs, with zeros behind the tensor's last.
  void rest(std::int64_t output, std::int64_t input) const {
    alignas(64) static constexpr float kZeros[kMostLanes] = {};
    alignas(64) float turned[kMostLanes][kMostLanes], widened[kMostLanes][kMostLanes];
    const float* rows[kMostLanes];
    float* columns[kMostLanes];
    for (std::int64_t i = 0; i < square_; ++i) {
      rows[i] =
          output + i < outputs_ ? floats(from(output + i, input), square_, widened[i]) : kZeros;
      columns[i] = turned[i];
    }
    moves_.transpose(rows, columns);
    for (std::int64_t i = 0; i < square_; ++i)
      std::memcpy(to_ + (input + i) * width_ + output, turned[i],
                  static_cast<std::size_t>(width_ - output) * sizeof(float));
  }

  void line(std::int64_t input) const {
    float* to = to_ + input * width_;
    moves_.widen(from(0, input), output_step_, to, outputs_);
    std::fill(to + outputs_, to + width_, 0.0F);
  }

  const std::byte* from_;
  float* to_;
  std::int64_t output_step_, input_step_;
  std::int64_t inputs_, outputs_;
  std::int64_t width_;  ///< of the packed piece
  bool asked_for_;
  std::int64_t bytes_;  ///< of a raw weight
  bool is_float_;
  Moves moves_;
  std::int64_t square_;  ///< its side
};

}  // namespace

std::size_t packed_weight_bytes(const Conv1x1Plan& plan) {
  return static_cast<std::size_t>(plan.shape.conv.groups * plan.group_weights()) * sizeof(float);
}

const std::byte* raw_piece(const Conv1x1Plan& plan, const void* raw, std::int64_t piece) {
  return static_cast<const std::byte*>(raw) +
         plan.channels.first(piece) * plan.shape.conv.weight_stride[0] *
             static_cast<std::int64_t>(size_of(plan.shape.weights));
}

void pack_piece(const Conv1x1Plan& plan, const void* raw, std::int64_t piece, float* packed,
                bool asked_for) {
  PiecePacker(plan, raw, piece, packed, asked_for).pack();
}

void pack_weights(const Conv1x1Plan& plan, const void* raw, float* packed,
                  const Parallel& parallel) {
  const std::int64_t pieces = plan.channels.pieces();
  const std::int64_t group_bytes = plan.shape.outputs() * plan.shape.conv.weight_stride[0] *
                                   static_cast<std::int64_t>(size_of(plan.shape.weights));
  for_each_unit(parallel, plan.shape.conv.groups * pieces, [&](std::int64_t unit) {
    const std::int64_t group = unit / pieces, piece = unit % pieces;
    pack_piece(plan, static_cast<const std::byte*>(raw) + group * group_bytes, piece,
               packed + group * plan.group_weights() + plan.weight_offset(piece), false);
  });
}

bool packs_in_passing(const Conv1x1Plan& plan) {
  const Conv1x1Shape& shape = plan.shape;
  if (plan.windows() > 1) return false;
  if (plan.block >= plan.pixels.pieces()) return true;
  if (plan.staged && !plan.stages_channels_inner) return false;
  constexpr std::int64_t kKept = 1 << 20;  // of pixels, while weights pass by
  const std::int64_t pixels = plan.pixels.length() * shape.inputs() * std::int64_t{sizeof(float)};
  return plan.streams_weights() && pixels <= kKept;
}

std::string packed_weight_format(const Conv1x1Plan& plan) {
  const std::int64_t groups = plan.shape.conv.groups;
  return fmt::format("conv1x1:{}x{}{}", plan.channels.size(), plan.channel_unit(),
                     groups > 1 ? fmt::format(":{}", groups) : "");
}

}  // namespace fuseplan::cpu
