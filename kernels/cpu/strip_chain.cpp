// SPDX-License-Identifier: MIT
#include "kernels/cpu/strip_chain.hpp"

#include "base/integer.hpp"
#include "kernels/cpu/intrinsics.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

void StripChain::expect_pixels(std::int64_t pixels, std::int64_t channels, Isa isa,
                               Scratch& scratch) {
  if (by_pixel_) return;
  moves_ = moves_for(DType::f32, isa);
  turned_step_ = round_up(pixels, moves_.lanes);
  turned_ = scratch.take_array<float>(
      static_cast<std::size_t>(turned_step_ * round_up(channels, moves_.lanes)));
}

FUSEPLAN_PRFCHW void StripChain::expect_stores(std::int64_t channels, std::int64_t first,
                                               std::int64_t end) {
  if (by_pixel_) return;
  constexpr int kToWrite = 1;
  const auto* row = static_cast<const std::byte*>(call().output);
  for (std::int64_t i = 0; i < channels; ++i, row += call().output_step) {
    const std::byte* last = row + end * output_bytes_ - 1;
    for (const std::byte* at = row + first * output_bytes_; at < last; at += kCacheLine)
      __builtin_prefetch(at, kToWrite);
    __builtin_prefetch(last, kToWrite);
  }
}

void StripChain::expect_elements(std::int64_t channels, std::int64_t pixels) {
  if (by_pixel_) return;
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const View& view = elements_[i].view;
    if (view.stride[4] != 1 || view.stride[1] == 0) continue;
    const auto* row = static_cast<const std::byte*>(call().elements[i]);
    for (std::int64_t k = 0; k < channels; ++k, row += call().element_steps[i])
      prefetch_lines(row, pixels * static_cast<std::int64_t>(size_of(elements_[i].dtype)));
  }
}

void StripChain::finish_pixels(const float* sums, std::int64_t step, std::int64_t pixels,
                               std::int64_t channels) {
  if (by_pixel_) return finish_rows(sums, step, pixels, channels);
  moves_.turn(sums, step, pixels, channels, turned_, turned_step_);
  finish_rows(turned_, turned_step_, channels, pixels);
}

void StripChain::finish_rows(const float* sums, std::int64_t step, std::int64_t rows,
                             std::int64_t lanes) {
  RowsCall& chain = call();
  chain.input = sums;
  chain.input_step = step * kFloat;
  chain.rows = rows;
  chain.lanes = lanes;
  rows_(&chain);
}

}  // namespace fuseplan::cpu
