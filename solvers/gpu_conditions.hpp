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

/// For kernels on tensor cores: f32 only where it may be rounded to tf32.
inline void need_tf32(const Question& question, Verdict& verdict) {
  if (question.problem.input().dtype != DType::f32) return;
  verdict.need(question.traits.tf32, RejectCode::DataType, "input", "f32",
               "f16 or bf16; or f32 rounded to tf32", "allow that by the tf32 option", 0);
  verdict.need(!question.problem.conv()->conv.strict, RejectCode::Attribute, "strict", "1", "0",
               "it rounds f32 to tf32", 0);
}

/// Blocks that run together and read each other's shared memory.
inline bool has_clusters(const Traits& traits) { return capability_of(traits) >= 90; }

}  // namespace fuseplan
