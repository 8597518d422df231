// SPDX-License-Identifier: MIT
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fuseplan {

/// While it lives, this thread's SSE and AVX arithmetic takes denormal operands as zero and gives
/// zero for denormal results; the caller's mode is restored afterwards. Kernels always run so:
/// chains of multiply-adds with denormal results are two orders of magnitude slower otherwise.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : saved_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#endif
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace fuseplan
