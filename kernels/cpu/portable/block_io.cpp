// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/block_io.hpp"

#include <algorithm>
#include <cstring>

#include "base/half.hpp"
#include "base/saturate.hpp"

namespace fuseplan::cpu {
namespace {

struct F32 {
  using Stored = float;
  static float widen(float value) { return value; }
  static float round(float value) { return value; }
};
struct F16 {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t bits) { return f16_to_float(bits); }
  static std::uint16_t round(float value) { return float_to_f16(value); }
};
struct BF16 {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t bits) { return bf16_to_float(bits); }
  static std::uint16_t round(float value) { return float_to_bf16(value); }
};

template <typename Byte>
struct Integer {
  using Stored = Byte;
  static float widen(Byte value) { return value; }
  static Byte round(float value) { return saturate<Byte>(value); }
};

template <typename F>
void with_format(DType dtype, const F& action) {
  switch (dtype) {
    case DType::f16:
      return action(F16{});
    case DType::bf16:
      return action(BF16{});
    case DType::i8:
      return action(Integer<std::int8_t>{});
    case DType::u8:
      return action(Integer<std::uint8_t>{});
    default:
      return action(F32{});
  }
}

// A block seen so that the inner loop runs along memory: (outer, inner) is (row, lane) or its
// transpose.
struct Walk {
  int outer, inner;
  std::int64_t outer_step, inner_step;      // in the tensor
  std::ptrdiff_t outer_pitch, inner_pitch;  // in the block
};

Walk walk_of(BlockSteps steps, BlockShape shape) {
  if (steps.lane <= steps.row || shape.rows == 1)
    return {shape.rows, shape.lanes, steps.row, steps.lane, shape.pitch, 1};
  return {shape.lanes, shape.rows, steps.lane, steps.row, 1, shape.pitch};
}

template <typename Format>
void load(Format, const typename Format::Stored* data, const Walk& walk, float* block) {
  for (int o = 0; o < walk.outer; ++o) {
    const auto* from = data + o * walk.outer_step;
    float* to = block + o * walk.outer_pitch;
    if (walk.inner_step == 1 && walk.inner_pitch == 1) {
      for (int i = 0; i < walk.inner; ++i) to[i] = Format::widen(from[i]);
    } else {
      for (int i = 0; i < walk.inner; ++i)
        to[i * walk.inner_pitch] = Format::widen(from[i * walk.inner_step]);
    }
  }
}

template <typename Format>
void store(Format, typename Format::Stored* data, const Walk& walk, const float* block) {
  for (int o = 0; o < walk.outer; ++o) {
    auto* to = data + o * walk.outer_step;
    const float* from = block + o * walk.outer_pitch;
    if (walk.inner_step == 1 && walk.inner_pitch == 1) {
      for (int i = 0; i < walk.inner; ++i) to[i] = Format::round(from[i]);
    } else {
      for (int i = 0; i < walk.inner; ++i)
        to[i * walk.inner_step] = Format::round(from[i * walk.inner_pitch]);
    }
  }
}

}  // namespace

bool is_dense(DType dtype, BlockSteps steps, BlockShape shape) {
  return dtype == DType::f32 && steps.lane == 1 && shape.lanes == shape.pitch &&
         (shape.rows == 1 || steps.row == shape.pitch);
}

void load_block(DType dtype, const void* data, BlockSteps steps, BlockShape shape, float* block) {
  with_format(dtype, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    load(format, static_cast<const Stored*>(data), walk_of(steps, shape), block);
  });
}

void store_block(DType dtype, void* data, BlockSteps steps, BlockShape shape, const float* block) {
  with_format(dtype, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    store(format, static_cast<Stored*>(data), walk_of(steps, shape), block);
  });
}

}  // namespace fuseplan::cpu
