// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kSquare = 16;

class PiecePacker {
 public:
  PiecePacker(const Conv1x1Plan& plan, const float* raw, float* packed)
      : plan_(plan),
        raw_(raw),
        packed_(packed),
        moves_(moves_for(DType::f32, Isa::avx512)),
        input_step_(plan.shape.conv.weight_stride[1]) {}

  void pack(std::int64_t piece) {
    first_ = plan_.channels.first(piece);
    last_ = plan_.channels.end(piece);
    width_ = plan_.channels.first(piece + 1) - first_;
    to_ = packed_ + plan_.weight_offset(piece);
    const std::int64_t inputs = plan_.shape.inputs();
    const std::int64_t whole = input_step_ == 1 ? inputs / kSquare * kSquare : 0;
    for (std::int64_t output = 0; output < width_; output += kSquare) {
      for (std::int64_t input = 0; input < whole; input += kSquare) square(output, input);
      for (std::int64_t input = whole; input < inputs; ++input) line(output, input);
    }
  }

 private:
  const float* from(std::int64_t output, std::int64_t input) const {
    return raw_ + (first_ + output) * plan_.shape.conv.weight_stride[0] + input * input_step_;
  }

  void square(std::int64_t output, std::int64_t input) {
    alignas(64) static constexpr float kZeros[kSquare] = {};
    alignas(64) float turned[kSquare][kSquare];
    const float* rows[kSquare];
    float* columns[kSquare];
    const std::int64_t count = std::min(kSquare, width_ - output);
    for (std::int64_t i = 0; i < kSquare; ++i) {
      rows[i] = first_ + output + i < last_ ? from(output + i, input) : kZeros;
      columns[i] = count == kSquare ? to_ + (input + i) * width_ + output : turned[i];
    }
    moves_.transpose(rows, columns);
    if (count == kSquare) return;
    for (std::int64_t i = 0; i < kSquare; ++i)
      std::memcpy(to_ + (input + i) * width_ + output, turned[i],
                  static_cast<std::size_t>(count) * sizeof(float));
  }

  void line(std::int64_t output, std::int64_t input) {
    const std::int64_t end = std::min(kSquare, width_ - output);
    for (std::int64_t i = 0; i < end; ++i)
      to_[input * width_ + output + i] =
          first_ + output + i < last_ ? *from(output + i, input) : 0.0F;
  }

  const Conv1x1Plan& plan_;
  const float* raw_;
  float* packed_;
  Moves moves_;
  std::int64_t input_step_;
  std::int64_t first_ = 0, last_ = 0, width_ = 0;
  float* to_ = nullptr;
};

}  // namespace

std::size_t packed_weight_bytes(const Conv1x1Plan& plan) {
  return static_cast<std::size_t>(plan.weight_offset(plan.channels.pieces())) * sizeof(float);
}

void pack_weights(const Conv1x1Plan& plan, const void* raw, float* packed,
                  const Parallel& parallel) {
  const std::int64_t pieces = plan.channels.pieces();
  const int parts = static_cast<int>(std::min<std::int64_t>(pieces, parallel.threads()));
  parallel(parts, [&](int part) {
    PiecePacker packer(plan, static_cast<const float*>(raw), packed);
    const Range range = split(pieces, parts, part);
    for (long piece = range.first; piece < range.last; ++piece) packer.pack(piece);
  });
}

std::string packed_weight_format(const Conv1x1Plan& plan) {
  return fmt::format("conv1x1:{}x{}", plan.channels.size(), plan.channel_unit());
}

}  // namespace fuseplan::cpu
