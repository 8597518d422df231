// SPDX-License-Identifier: MIT
#include "driver/roof.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fuseplan::driver {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best of several short bursts: a roof is what the machine can do when nothing disturbs it.
template <typename F>
double best_seconds(const F& burst, int bursts) {
  double best = 1e30;
  for (int i = 0; i < bursts; ++i) {
    const double start = seconds_now();
    burst();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

constexpr int kAccumulators = 24;
volatile float sink;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double fma_burst_avx512(long rounds) {
  __m512 sums[kAccumulators];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 24
    for (int j = 0; j < kAccumulators; ++j) sums[j] = _mm512_fmadd_ps(sums[j], a, b);
  }
  float lanes[16], total = 0;
  for (const __m512& sum : sums) {
    _mm512_storeu_ps(lanes, sum);
    for (float lane : lanes) total += lane;
  }
  sink = total;
  return 2.0 * 16 * kAccumulators * static_cast<double>(rounds);
}

__attribute__((target("avx2,fma"))) double fma_burst_avx2(long rounds) {
  constexpr int kSums = 12;  // 16 registers
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = _mm256_fmadd_ps(sums[j], a, b);
  }
  float lanes[8], total = 0;
  for (const __m256& sum : sums) {
    _mm256_storeu_ps(lanes, sum);
    for (float lane : lanes) total += lane;
  }
  sink = total;
  return 2.0 * 8 * kSums * static_cast<double>(rounds);
}

__attribute__((target("avx"))) void copy_streaming(char* to, const char* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32)));
  }
  _mm_sfence();
  std::memcpy(to + i, from + i, bytes - i);
}
#endif

double fma_burst_scalar(long rounds) {
  float sums[kAccumulators];
  std::fill(std::begin(sums), std::end(sums), 1.0f);
  for (long i = 0; i < rounds; ++i)
    for (float& sum : sums) sum = sum * 0.999f + 1e-3f;
  float total = 0;
  for (float sum : sums) total += sum;
  sink = total;
  return 2.0 * kAccumulators * static_cast<double>(rounds);
}

double fma_burst(long rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return fma_burst_avx512(rounds);
  if (__builtin_cpu_supports("fma")) return fma_burst_avx2(rounds);
#endif
  return fma_burst_scalar(rounds);
}

using Copy = void (*)(char* to, const char* from, std::size_t bytes);
void copy_plain(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

std::vector<Copy> copies() {
  std::vector<Copy> list{copy_plain};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) list.push_back(copy_streaming);
#endif
  return list;
}

}  // namespace

double fma_peak_gflops(int threads) {
  constexpr long kRounds = 100000;
  double flops = 0;
  const double seconds = best_seconds(
      [&] {
        flops = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : flops) schedule(static, 1)
        for (int i = 0; i < threads; ++i) flops += fma_burst(kRounds);
      },
      20);
  return flops / seconds * 1e-9;
}

double copy_gbps(std::size_t bytes, int threads) {
  const std::size_t half = std::max<std::size_t>(4096, bytes / 2 / 4096 * 4096);
  const auto aligned = [](std::size_t size) {
    return std::unique_ptr<char, void (*)(void*)>(
        static_cast<char*>(std::aligned_alloc(4096, size)), std::free);
  };
  const auto from = aligned(half), to = aligned(half);
  if (!from || !to) return 0;
  std::memset(from.get(), 1, half);
  std::memset(to.get(), 2, half);
  // Bursts of at least a few megabytes, so that small buffers are timed in their cache.
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (std::size_t{4} << 20) / half));
  double best = 1e30;
  for (Copy copy : copies()) {
    const double seconds = best_seconds(
        [&] {
          for (int r = 0; r < repeats; ++r) {
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
            for (int i = 0; i < threads; ++i) {
              const std::size_t first = half / threads * i / 64 * 64;
              const std::size_t last = i + 1 == threads ? half : half / threads * (i + 1) / 64 * 64;
              copy(to.get() + first, from.get() + first, last - first);
            }
          }
        },
        12);
    best = std::min(best, seconds / repeats);
  }
  return 2.0 * static_cast<double>(half) / best * 1e-9;
}

}  // namespace fuseplan::driver
