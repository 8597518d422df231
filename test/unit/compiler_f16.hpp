// SPDX-License-Identifier: MIT
#pragma once

// Whether the compiler has _Float16 on every x86-64: GCC has since 12, clang since 15.
#if !defined(__clang__) || __clang_major__ >= 15
#define FUSEPLAN_COMPILER_HAS_F16
#endif
