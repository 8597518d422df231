// SPDX-License-Identifier: MIT
#include "driver/roof.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fuseplan::driver {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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

__attribute__((target("avx"))) void copy_vectors(char* to, const char* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    const __m256 low = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i));
    const __m256 high = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i + 32));
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i), low);
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i + 32), high);
  }
  std::memcpy(to + i, from + i, bytes - i);
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

std::vector<Copy> all_copies() {
  std::vector<Copy> list{copy_plain};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) list.insert(list.end(), {copy_vectors, copy_streaming});
#endif
  return list;
}
const std::vector<Copy>& copies() {
  static const std::vector<Copy> kCopies = all_copies();
  return kCopies;
}

}  // namespace

double fma_burst_gflops(int threads) {
  constexpr long kRounds = 100000;
  double flops = 0;
  const double start = seconds_now();
#pragma omp parallel for num_threads(threads) reduction(+ : flops) schedule(static, 1)
  for (int i = 0; i < threads; ++i) flops += fma_burst(kRounds);
  return flops / (seconds_now() - start) * 1e-9;
}

double fma_peak_gflops(int threads) {
  double best = 0;
  for (int burst = 0; burst < 20; ++burst) best = std::max(best, fma_burst_gflops(threads));
  return best;
}

CopyRoof::CopyRoof(std::size_t bytes, int threads)
    : half_(std::max<std::size_t>(4096, bytes / 2 / 4096 * 4096)),
      threads_(threads),
      from_(static_cast<char*>(std::aligned_alloc(4096, half_))),
      to_(static_cast<char*>(std::aligned_alloc(4096, half_))) {
  if (!from_ || !to_) throw std::bad_alloc();
  std::memset(from_.get(), 1, half_);
  std::memset(to_.get(), 2, half_);
}

void CopyRoof::run(int kind) {
  const Copy copy = copies()[static_cast<std::size_t>(kind)];
#pragma omp parallel for num_threads(threads_) schedule(static, 1) if (threads_ > 1)
  for (int i = 0; i < threads_; ++i) {
    const std::size_t first = half_ / threads_ * i / 64 * 64;
    const std::size_t last = i + 1 == threads_ ? half_ : half_ / threads_ * (i + 1) / 64 * 64;
    copy(to_.get() + first, from_.get() + first, last - first);
  }
}

double CopyRoof::burst_gbps() {
  // Bursts of at least a few megabytes, so that small buffers are timed in their cache.
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (std::size_t{4} << 20) / half_));
  double best = 1e30;
  for (int kind = 0; kind < static_cast<int>(copies().size()); ++kind) {
    run(kind);  // what ran before has filled the caches with its own
    const double start = seconds_now();
    for (int r = 0; r < repeats; ++r) run(kind);
    best = std::min(best, (seconds_now() - start) / repeats);
  }
  return 2.0 * static_cast<double>(half_) / best * 1e-9;
}

double copy_gbps(std::size_t bytes, int threads) {
  CopyRoof roof(bytes, threads);
  double best = 0;
  for (int burst = 0; burst < 12; ++burst) best = std::max(best, roof.burst_gbps());
  return best;
}

}  // namespace fuseplan::driver
