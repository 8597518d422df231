// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"

namespace fuseplan::cpu {

/// A kernel that applies a short chain to a strip of sums in memory, [pixel][channel] with whole
/// vectors of channels, and stores it: for outputs whose channels are contiguous, on AVX-512.
struct StripSpec {
  int vectors = 0;     ///< of channels, at most 2
  int last_lanes = 0;  ///< of the last vector
  bool operator==(const StripSpec&) const = default;
};

/// What it reads, as `void(const StripCall*)`.
struct StripCall {
  const void* sums = nullptr;
  const RowsCall* chain = nullptr;  ///< at the first pixel and channel
  std::int64_t pixels = 0;          ///< neighbours in a row of the output, at least 1
};

/// Whether the chain is short enough, and the tensors near enough.
bool strip_finisher_takes(const FinishSpec& finish);

std::vector<std::byte> emit_strip_finisher(const StripSpec& spec, const FinishSpec& finish);

}  // namespace fuseplan::cpu
