// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kSquare = 16;

/// A piece of output channels, a few input channels of either half at a time: their weights are
/// turned, so that output channels are neighbours, and then combined.
class PiecePreparer {
 public:
  PiecePreparer(const StrassenPlan& plan, const void* raw, std::int64_t piece, float* prepared,
                Scratch& scratch)
      : plan_(plan),
        conv_(plan.shape.conv),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        to_(prepared),
        half_(plan.channels.width(piece)),
        row_(round_up(half_, kSquare)),
        product_(plan.weight_product(piece)),
        moves_(moves_for(plan.shape.weights, Isa::avx512)) {
    for (int i = 0; i < 2; ++i) {
      const std::int64_t first = plan.channels.first(piece) + i * plan.channels.distance(piece);
      outputs_[i] = {static_cast<const std::byte*>(raw) + first * conv_.weight_stride[0] * bytes_,
                     plan.channels.count(piece, i)};
    }
    const auto take = [&](std::int64_t floats) {
      return scratch.take_array<float>(static_cast<std::size_t>(floats));
    };
    for (auto& inputs : turned_)
      for (float*& turned : inputs) turned = take(plan.taps() * kSquare * row_);
    factors_ = take(kStrassenProducts * row_);
    taps_are_inner_ = conv_.weight_stride[1] == plan.taps() && is_dense();
    channels_are_inner_ = conv_.weight_stride[1] == 1;
  }

  void prepare() {
    for (std::int64_t channel = 0; channel < plan_.half; channel += kSquare) {
      const std::int64_t count = std::min(kSquare, plan_.half - channel);
      for (int inputs = 0; inputs < 2; ++inputs)
        for (int outputs = 0; outputs < 2; ++outputs)
          turn(channel + inputs * plan_.half, count, outputs_[outputs], turned_[inputs][outputs]);
      for (std::int64_t tap = 0; tap < plan_.taps(); ++tap)
        for (std::int64_t i = 0; i < count; ++i) combine(tap, channel, i);
    }
  }

 private:
  /// Output channels of half a piece.
  struct Outputs {
    const std::byte* weights;
    std::int64_t count;  ///< that exist
  };

  /// A filter's taps follow one another.
  bool is_dense() const {
    std::int64_t step = 1;
    for (std::size_t axis = 3; axis-- > 0; step *= conv_.filter[axis])
      if (conv_.filter[axis] > 1 && conv_.weight_stride[axis + 2] != step) return false;
    return true;
  }

  std::int64_t tap_offset(std::int64_t tap) const {
    Digits digits(tap);
    std::int64_t offset = 0;
    for (std::size_t axis = 3; axis-- > 0;)
      offset += digits.take(conv_.filter[axis]) * conv_.weight_stride[axis + 2];
    return offset;
  }

  const std::byte* at(const Outputs& outputs, std::int64_t output, std::int64_t element) const {
    return outputs.weights + (output * conv_.weight_stride[0] + element) * bytes_;
  }

  float* row(float* turned, std::int64_t tap, std::int64_t i) const {
    return turned + (tap * kSquare + i) * row_;
  }

  /// [tap][input channel][output channel] of so many input channels, zeros for what is not there.
  void turn(std::int64_t channel, std::int64_t count, const Outputs& outputs, float* turned) {
    const std::int64_t there = std::min(count, plan_.shape.inputs() - channel);
    if (there < count)
      for (std::int64_t tap = 0; tap < plan_.taps(); ++tap)
        std::fill_n(row(turned, tap, count - 1), row_, 0.0F);
    if (there < kSquare || !(taps_are_inner_ || channels_are_inner_))
      return gather(channel, there, outputs, turned);
    for (std::int64_t output = 0; output < row_; output += kSquare)
      for (std::int64_t square = 0; square < plan_.taps(); ++square)
        turn_square(channel, outputs, output, square, turned);
  }

  /// One of as many squares as there are taps, each of 16 neighbouring weights.
  void turn_square(std::int64_t channel, const Outputs& outputs, std::int64_t output,
                   std::int64_t square, float* turned) {
    alignas(64) static constexpr float kZeros[kSquare] = {};
    alignas(64) float widened[kSquare][kSquare];
    const float* rows[kSquare];
    float* columns[kSquare];
    const std::int64_t taps = plan_.taps();
    const std::int64_t first =
        taps_are_inner_ ? channel * taps + square * kSquare : tap_offset(square) + channel;
    for (std::int64_t i = 0; i < kSquare; ++i) {
      rows[i] =
          output + i < outputs.count ? floats(at(outputs, output + i, first), widened[i]) : kZeros;
      const std::int64_t place = square * kSquare + i;
      columns[i] =
          (taps_are_inner_ ? row(turned, place % taps, place / taps) : row(turned, square, i)) +
          output;
    }
    moves_.transpose(rows, columns);
  }

  const float* floats(const std::byte* from, float* widened) const {
    if (plan_.shape.weights == DType::f32) return reinterpret_cast<const float*>(from);
    moves_.widen(from, 1, widened, kSquare);
    return widened;
  }

  void gather(std::int64_t channel, std::int64_t count, const Outputs& outputs, float* turned) {
    for (std::int64_t tap = 0; tap < plan_.taps(); ++tap)
      for (std::int64_t i = 0; i < count; ++i) {
        float* to = row(turned, tap, i);
        moves_.widen(at(outputs, 0, tap_offset(tap) + (channel + i) * conv_.weight_stride[1]),
                     conv_.weight_stride[0], to, outputs.count);
        std::fill(to + outputs.count, to + row_, 0.0F);
      }
  }

  void combine(std::int64_t tap, std::int64_t channel, std::int64_t i) {
    const auto quarter = [&](int inputs, int outputs) {
      return Operand{row(turned_[inputs][outputs], tap, i), row_};
    };
    const Quarters w{quarter(0, 0), quarter(0, 1), quarter(1, 0), quarter(1, 1)};
    float* to = to_ + (tap * plan_.half + channel + i) * half_;
    if (half_ == row_) return combine_weights(w, half_, to, product_);
    combine_weights(w, half_, factors_, row_);
    for (std::int64_t m = 0; m < kStrassenProducts; ++m)
      std::copy_n(factors_ + m * row_, half_, to + m * product_);
  }

  const StrassenPlan& plan_;
  const ConvGeometry& conv_;
  std::int64_t bytes_;  ///< of a raw weight
  float* to_;
  Outputs outputs_[2];
  std::int64_t half_;     ///< output channels of a half of the piece
  std::int64_t row_;      ///< the same, rounded up to vectors
  std::int64_t product_;  ///< floats from product to product
  Moves moves_;
  float* turned_[2][2];  ///< of halves of input channels and of output channels
  float* factors_;       ///< of one depth, where they are no whole vectors
  bool taps_are_inner_ = false, channels_are_inner_ = false;
};

}  // namespace

std::size_t strassen_weight_bytes(const StrassenPlan& plan) {
  return static_cast<std::size_t>(plan.weight_offset(plan.channels.pieces())) * sizeof(float);
}

void prepare_strassen_piece(const StrassenPlan& plan, const void* raw, std::int64_t piece,
                            float* prepared) {
  Scratch scratch;
  PiecePreparer(plan, raw, piece, prepared, scratch).prepare();
}

void prepare_strassen_weights(const StrassenPlan& plan, const void* raw, float* prepared,
                              const Parallel& parallel) {
  for_each_unit(parallel, plan.channels.pieces(), [&](std::int64_t piece) {
    prepare_strassen_piece(plan, raw, piece, prepared + plan.weight_offset(piece));
  });
}

std::string strassen_weight_format(const StrassenPlan& plan) {
  return fmt::format("strassen:{}:{}", plan.config.by_channel ? "lanes" : "rows",
                     plan.channels.most_width());
}

}  // namespace fuseplan::cpu
