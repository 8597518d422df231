// SPDX-License-Identifier: MIT
#pragma once

// FUSEPLAN_ADDRESS_SANITIZER and FUSEPLAN_THREAD_SANITIZER are defined in code that is built for
// them: GCC and clang each say so in a way of their own.
#if defined(__SANITIZE_ADDRESS__)
#define FUSEPLAN_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define FUSEPLAN_THREAD_SANITIZER
#endif
#if defined(__clang__) && defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(FUSEPLAN_ADDRESS_SANITIZER)
#define FUSEPLAN_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer) && !defined(FUSEPLAN_THREAD_SANITIZER)
#define FUSEPLAN_THREAD_SANITIZER
#endif
#endif
