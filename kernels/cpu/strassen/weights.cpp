// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kMostLanes = 16;
constexpr std::int64_t kAtOnce = 64;  // input channels of either half
constexpr std::int64_t kAhead = 64;   // weights of a row

/// A piece of output channels, a few input channels of either half at a time: their weights are
/// turned, so that output channels are neighbours, and then combined.
class PiecePreparer {
 public:
  PiecePreparer(const StrassenPlan& plan, const void* raw, std::int64_t section, std::int64_t piece,
                float* prepared, Scratch& scratch)
      : plan_(plan),
        output_step_(plan.shape.conv.weight_stride[0]),
        input_step_(plan.shape.conv.weight_stride[1]),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        is_float_(plan.shape.weights == DType::f32),
        to_(prepared),
        first_(section * plan.section),
        depth_(plan.depth(section)),
        half_(plan.channels.width(piece)),
        row_(round_up(half_, plan.shape.lanes())),
        product_(plan.weight_product(section, piece)),
        moves_(moves_for(plan.shape.weights, plan.shape.isa)),
        scheme_(plan.shape.isa),
        square_(moves_.lanes) {
    for (int i = 0; i < 2; ++i)
      outputs_[i] = {raw_strassen_weights(plan, raw, piece, i), plan.channels.count(piece, i)};
    for (auto& inputs : turned_)
      for (float*& turned : inputs)
        turned = scratch.take_array<float>(static_cast<std::size_t>(kAtOnce * row_));
  }

  void prepare() {
    for (std::int64_t done = 0; done < depth_; done += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, depth_ - done), channel = first_ + done;
      for (int inputs = 0; inputs < 2; ++inputs)
        for (int outputs = 0; outputs < 2; ++outputs)
          turn(channel + inputs * plan_.half, count, outputs_[outputs], turned_[inputs][outputs]);
      scheme_.combine_weights(
          {turned_[0][0], turned_[0][1], turned_[1][0], turned_[1][1], count, row_, half_},
          to_ + done * half_, product_);
    }
  }

 private:
  /// Output channels of half a piece.
  struct Outputs {
    const std::byte* weights;
    std::int64_t count;  ///< that exist
  };

  const std::byte* at(const Outputs& outputs, std::int64_t output, std::int64_t input) const {
    return outputs.weights + (output * output_step_ + input * input_step_) * bytes_;
  }

  /// [input channel][output channel] of so many input channels, zeros for what is not there.
  void turn(std::int64_t channel, std::int64_t count, const Outputs& outputs, float* turned) {
    const std::int64_t there = std::min(count, plan_.shape.inputs() - channel);
    if (there < count) std::fill_n(turned + there * row_, row_, 0.0F);
    const std::int64_t whole = input_step_ == 1 ? there / square_ * square_ : 0;
    for (std::int64_t output = 0; output < row_; output += square_)
      for (std::int64_t i = 0; i < whole; i += square_)
        turn_square(channel + i, outputs, output, turned + i * row_ + output);
    for (std::int64_t i = whole; i < there; ++i) {
      float* to = turned + i * row_;
      moves_.widen(at(outputs, 0, channel + i), output_step_, to, outputs.count);
      std::fill(to + outputs.count, to + row_, 0.0F);
    }
  }

  void turn_square(std::int64_t input, const Outputs& outputs, std::int64_t output, float* turned) {
    ask_for(outputs, output, input + kAhead);
    const std::byte* first = at(outputs, output, input);
    if (is_float_ && output + square_ <= outputs.count)
      return moves_.turn(reinterpret_cast<const float*>(first), output_step_, square_, square_,
                         turned, row_);
    alignas(64) static constexpr float kZeros[kMostLanes] = {};
    alignas(64) float widened[kMostLanes][kMostLanes];
    const float* rows[kMostLanes];
    float* columns[kMostLanes];
    for (std::int64_t i = 0; i < square_; ++i) {
      rows[i] =
          output + i < outputs.count ? floats(at(outputs, output + i, input), widened[i]) : kZeros;
      columns[i] = turned + i * row_;
    }
    moves_.transpose(rows, columns);
  }

  /// Rows of weights are as many streams through memory, too many for hardware to foresee.
  void ask_for(const Outputs& outputs, std::int64_t output, std::int64_t input) const {
    const std::int64_t end = std::min(output + square_, outputs.count);
    for (std::int64_t i = output; i < end; ++i)
      prefetch_lines(at(outputs, i, input), square_ * bytes_);
  }

  const float* floats(const std::byte* from, float* widened) const {
    if (is_float_) return reinterpret_cast<const float*>(from);
    moves_.widen(from, 1, widened, square_);
    return widened;
  }

  const StrassenPlan& plan_;
  std::int64_t output_step_, input_step_;
  std::int64_t bytes_;  ///< of a raw weight
  bool is_float_;
  float* to_;
  std::int64_t first_, depth_;  ///< input channels of either half: the section's
  Outputs outputs_[2];
  std::int64_t half_;     ///< output channels of a half of the piece
  std::int64_t row_;      ///< the same, rounded up to vectors
  std::int64_t product_;  ///< floats from product to product
  Moves moves_;
  StrassenScheme scheme_;
  std::int64_t square_;  ///< the side of those that are turned
  float* turned_[2][2];  ///< of halves of input channels and of output channels
};

}  // namespace

std::size_t strassen_weight_bytes(const StrassenPlan& plan) {
  return static_cast<std::size_t>(plan.weight_floats()) * sizeof(float);
}

const std::byte* raw_strassen_weights(const StrassenPlan& plan, const void* raw, std::int64_t piece,
                                      int half) {
  const std::int64_t output = plan.channels.first(piece) + half * plan.channels.distance(piece);
  return static_cast<const std::byte*>(raw) +
         output * plan.shape.conv.weight_stride[0] *
             static_cast<std::int64_t>(size_of(plan.shape.weights));
}

void prepare_strassen_piece(const StrassenPlan& plan, const void* raw, std::int64_t section,
                            std::int64_t piece, float* prepared) {
  Scratch scratch;
  PiecePreparer(plan, raw, section, piece, prepared, scratch).prepare();
}

void prepare_strassen_weights(const StrassenPlan& plan, const void* raw, float* prepared,
                              const Parallel& parallel) {
  for_each_unit(parallel, plan.sections() * plan.channels.pieces(), [&](std::int64_t unit) {
    Digits digits(unit);
    const std::int64_t piece = digits.take(plan.channels.pieces()), section = digits.rest();
    prepare_strassen_piece(plan, raw, section, piece,
                           prepared + plan.weight_offset(section, piece));
  });
}

std::string strassen_weight_format(const StrassenPlan& plan) {
  const std::int64_t unit = plan.config.by_channel ? plan.shape.lanes() : 1;
  return fmt::format("strassen:{}x{}:{}", plan.channels.most_width() / unit,
                     plan.config.by_channel ? fmt::format("{} lanes", unit) : "rows", plan.section);
}

}  // namespace fuseplan::cpu
