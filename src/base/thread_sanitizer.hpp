// SPDX-License-Identifier: MIT
#pragma once

// FUSEPLAN_THREAD_SANITIZER is defined where races are looked for: GCC and clang each say so in
// a way of their own.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FUSEPLAN_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define FUSEPLAN_THREAD_SANITIZER
#endif
