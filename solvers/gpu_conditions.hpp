// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include "solvers/cpu_conditions.hpp"

namespace fuseplan {

// Conditions that several GPU solvers state.

/// Kernels number elements and blocks in 31 bits.
inline void need_count(Verdict& verdict, std::string_view what, double count) {
  constexpr double kMost = 2147483647;
  verdict.need(count <= kMost, RejectCode::Size, what, fmt::format("{:.0f}", count),
               fmt::format("at most {:.0f}", kMost), "cut the batch");
}

/// 90 for "sm_90" and "sm_90a"; 0 for anything else.
inline int capability_of(const Traits& traits) {
  constexpr std::string_view kPrefix = "sm_";
  return traits.arch.starts_with(kPrefix) ? std::atoi(traits.arch.c_str() + kPrefix.size()) : 0;
}

}  // namespace fuseplan
