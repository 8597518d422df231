// SPDX-License-Identifier: MIT
#include "miopen/loops.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/denormals.hpp"
#include "base/parallel.hpp"

namespace fuseplan::miopen {

F16::operator float() const {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = (bits >> 10) & 31, fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

F16 F16::of(float x) {
  const auto wide = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((wide >> 16) & 0x8000u);
  if (x != x) return {static_cast<std::uint16_t>(sign | 0x7e00)};
  const float magnitude = std::fabs(x);
  if (magnitude >= 65520.0f) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  // Below 2^-14 steps are 2^-24; adding 0.5 leaves them as the last bits of the sum.
  if (magnitude < 0x1p-14f)
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(magnitude + 0.5f) -
                                               std::bit_cast<std::uint32_t>(0.5f)))};
  std::uint32_t bits = wide & 0x7fffffffu;
  bits += 0xfff + ((bits >> 13) & 1);
  return {static_cast<std::uint16_t>(sign | ((bits >> 13) - (112u << 10)))};
}

void run_loop(Handle& handle, std::int64_t count, std::int64_t work,
              void (*task)(void*, std::int64_t), void* context) {
  constexpr std::int64_t kWorthThreads = 1 << 16;
  require(handle.on_cpu, miopenStatusNotImplemented, "this operation runs on CPU handles only");
  int threads = 1;
  if (work >= kWorthThreads) check(fuseplanGetThreadCount(handle.handle.get(), &threads));
  const auto start = std::chrono::steady_clock::now();
  const FlushDenormals flush;
  const auto parts = static_cast<int>(std::min(count, std::int64_t{threads} * 4));
  const Parallel parallel(threads);
  parallel(parts, [&](int part) {
    const Range range = split(count, parts, part);
    for (std::int64_t i = range.first; i < range.last; ++i) task(context, i);
  });
  const std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - start;
  handle.loop_ms = taken.count();
}

std::size_t offset_of(std::size_t index, const std::vector<std::size_t>& lens,
                      const std::vector<std::size_t>& strides) {
  std::size_t offset = 0;
  for (std::size_t axis = lens.size(); axis-- > 0;) {
    offset += index % lens[axis] * strides[axis];
    index /= lens[axis];
  }
  return offset;
}

}  // namespace fuseplan::miopen
