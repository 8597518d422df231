// SPDX-License-Identifier: MIT
#pragma once

// Intrinsics, for functions that are compiled for more than the baseline and called where the
// processor has it. To be included by .cpp files only: what it tells the compiler holds to their
// ends.
#if defined(__x86_64__)
#if !defined(__clang__)
// GCC 12 takes the undefined vectors inside its own intrinsics for mistakes (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

// prefetchw is a hint: x86-64 CPUs without it take it for no operation.
#define FUSEPLAN_PRFCHW __attribute__((target("prfchw")))
#define FUSEPLAN_AVX2 __attribute__((target("avx2,fma,f16c")))
#define FUSEPLAN_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#else
#define FUSEPLAN_PRFCHW
#endif
