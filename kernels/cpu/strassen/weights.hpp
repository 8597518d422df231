// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/strassen/plan.hpp"

namespace fuseplan::cpu {

/// The right factors of all products, f32 from any real type, read linearly by the kernels:
/// [section][piece of channels][product][input channel][output channel], with zeros behind the last
/// of either.
std::size_t strassen_weight_bytes(const StrassenPlan& plan);
void prepare_strassen_weights(const StrassenPlan& plan, const void* raw, float* prepared,
                              const Parallel& parallel);

/// A section's piece of channels, to where `prepared` points.
void prepare_strassen_piece(const StrassenPlan& plan, const void* raw, std::int64_t section,
                            std::int64_t piece, float* prepared);

/// Where the raw weights of half of a piece begin.
const std::byte* raw_strassen_weights(const StrassenPlan& plan, const void* raw, std::int64_t piece,
                                      int half);

/// Plans with equal formats read equal weights.
std::string strassen_weight_format(const StrassenPlan& plan);

}  // namespace fuseplan::cpu
