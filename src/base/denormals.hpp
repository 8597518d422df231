// SPDX-License-Identifier: MIT
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fuseplan {

/// While it lives, this thread's SSE and AVX arithmetic rounds to nearest, traps nothing and knows
/// denormals, whatever the caller's mode is; that is restored afterwards, with its flags. Threads
/// of a pool have modes of their own, so that results would depend on who computes them otherwise.
class StandardFloats {
 public:
#if defined(__SSE__)
  StandardFloats() : StandardFloats(0) {}
  ~StandardFloats() { _mm_setcsr(saved_); }

 protected:
  explicit StandardFloats(unsigned more) : saved_(_mm_getcsr()) {
    constexpr unsigned kNearestAndNoTraps = 0x1f80;
    _mm_setcsr(kNearestAndNoTraps | more);
  }

 private:
  unsigned saved_;
#else
  StandardFloats() = default;
#endif
 public:
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;
};

/// The same, but denormal operands are taken as zero, and denormal results are given as zero.
/// Kernels always run so: chains of multiply-adds with denormal results are two orders of magnitude
/// slower otherwise.
#if defined(__SSE__)
class FlushDenormals : public StandardFloats {
 public:
  FlushDenormals() : StandardFloats(kFlushToZero | kDenormalsAreZero) {}

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
};
#else
class FlushDenormals : public StandardFloats {};
#endif

}  // namespace fuseplan
