// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/moves.hpp"

#include <algorithm>
#include <cstring>

namespace fuseplan::cpu {
namespace {

template <typename Form>
void copy_run(const typename Form::Source* from, std::int64_t count, typename Form::Stored* to) {
  std::int64_t i = 0;
  for (; i + Form::kRun <= count; i += Form::kRun) {
    typename Form::Run values;
    std::memcpy(&values, from + i, sizeof values);
    Form::put(values, to + i);
  }
  for (; i < count; ++i) to[i] = Form::of(from[i]);
}

template <typename Form>
void copy(const void* from, const PixelBlock& block, void* to, std::int64_t step) {
  const auto* input = static_cast<const typename Form::Source*>(from);
  auto* output = static_cast<typename Form::Stored*>(to);
  if (block.pixel_stride == block.channels && step == block.channels)
    return copy_run<Form>(input, block.pixels * block.channels, output);
  for (std::int64_t p = 0; p < block.pixels; ++p)
    copy_run<Form>(input + p * block.pixel_stride, block.channels, output + p * step);
}

template <typename Form>
void fill(void* to, std::int64_t count) {
  std::fill_n(static_cast<typename Form::Stored*>(to), count, Form::kZero);
}

template <typename Form>
ByteMoves moves_of(Isa isa) {
  return {copy<Form>, pixel_turn_for<Form>(isa), fill<Form>};
}

}  // namespace

ByteMoves byte_moves_for(bool is_signed, DotKind dot, Isa isa) {
  if (dot == DotKind::quads)
    return is_signed ? moves_of<ShiftedByte>(isa) : moves_of<PlainByte>(isa);
  return is_signed ? moves_of<WideSigned>(isa) : moves_of<WideUnsigned>(isa);
}

}  // namespace fuseplan::cpu
