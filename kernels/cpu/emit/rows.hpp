// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"
#include "expr/expr.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Of lanes that are not contiguous, in elements: several vectors of them are within an
/// instruction's displacement, several pixels beside them.
inline constexpr std::int64_t kMostLaneStride = 1 << 21;
/// Bytes from lane to lane for elements `stride` apart; 0 if they are contiguous, or all the same.
inline std::int64_t lane_stride_of(DType dtype, std::int64_t stride) {
  return stride > 1 ? stride * static_cast<std::int64_t>(size_of(dtype)) : 0;
}

/// A kernel that applies the body of a chain to rows of lanes that are contiguous in the
/// output's memory.
struct RowsSpec {
  Isa isa{};
  Expr body;  ///< SplitChain::body
  DType input{}, output{};
  std::int64_t input_lane_stride = 0;  ///< bytes, where its lanes are not contiguous; 0 otherwise
  /// Channel leaves change from lane to lane (and are read like a row of floats); otherwise they
  /// change from row to row.
  bool lanes_are_channels = false;
  struct Element {
    DType dtype{};
    bool per_lane = true;          ///< otherwise one value per row
    std::int64_t lane_stride = 0;  ///< bytes, where lanes are not contiguous; 0 otherwise
  };
  std::vector<Element> elements;  ///< by SplitChain::elements index
  /// Every call's lanes where they are few whole vectors: a row is code without a loop then.
  /// 0: calls say how many. Neither touching nor streaming.
  std::int64_t lanes = 0;
  /// Rows follow one another without a gap in every tensor that has lanes, and hold at least 16 of
  /// them: vectors may then span two rows, and only the first and last of a call are partial.
  /// Channel values along lanes continue for 16 lanes behind the row's last with those of the next
  /// row.
  bool touching = false;
  /// Stores that bypass the caches, for outputs larger than them. Any alignment is right, lanes of
  /// a row before the first aligned address are stored one by one.
  bool streaming = false;
  /// Orders them before what follows. Short calls leave it to the launch (fence_streams), as all
  /// that is under way would be waited for.
  bool fences = true;
  bool bf16 = false;  ///< Extensions::bf16
};

/// `void rows(const RowsCall*)`; see kernels/cpu/chain_frame.hpp. Reads and writes nothing outside
/// the lanes it is told of. `output` may be `input`.
std::vector<std::byte> emit_rows(const RowsSpec& spec);

}  // namespace fuseplan::cpu
