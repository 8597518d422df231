// SPDX-License-Identifier: MIT
#include "kernels/cpu/drained_output.hpp"

#include <algorithm>
#include <cstring>

#include "base/integer.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t offset_in_line(const void* at) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % kLine);
}

void stream_lines(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if defined(__x86_64__)
  constexpr std::int64_t kPart = sizeof(__m128i);
  for (std::int64_t at = 0; at < bytes; at += kPart)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

}  // namespace

DrainedOutput::DrainedOutput(std::int64_t most_bytes, Scratch& scratch) {
  if (most_bytes == 0) return;
  for (std::byte*& buffer : buffers_)
    buffer = scratch.take_array<std::byte>(
        static_cast<std::size_t>(round_up(most_bytes, kLine) + kLine));
}

void DrainedOutput::begin(void* output, std::int64_t bytes) {
  drain_rest();
  start_draining(filled_);
  turn_ = 1 - turn_;
  filled_ = {buffers_[turn_] + offset_in_line(output), static_cast<std::byte*>(output), bytes};
}

void DrainedOutput::redirect(RowsCall& call) {
  const std::int64_t offset = static_cast<std::byte*>(call.output) - filled_.to;
  call.output = const_cast<std::byte*>(filled_.from) + offset;
  call.drain = &drain_;
}

void DrainedOutput::flush() {
  drain_rest();
  start_draining(filled_);
  drain_rest();
  filled_ = {};
}

void DrainedOutput::drain_rest() {
  stream_lines(static_cast<std::byte*>(drain_.to), static_cast<const std::byte*>(drain_.from),
               drain_.bytes);
  drain_ = {};
}

/// Parts of lines at its ends are stored now: their other parts are a neighbour's.
void DrainedOutput::start_draining(const Region& region) {
  const std::int64_t head = std::min((kLine - offset_in_line(region.to)) % kLine, region.bytes);
  const std::int64_t whole = (region.bytes - head) / kLine * kLine;
  const std::int64_t tail = region.bytes - head - whole;
  if (head > 0) std::memcpy(region.to, region.from, static_cast<std::size_t>(head));
  if (tail > 0)
    std::memcpy(region.to + head + whole, region.from + head + whole,
                static_cast<std::size_t>(tail));
  if (whole > 0) drain_ = {region.from + head, region.to + head, whole};
}

}  // namespace fuseplan::cpu
