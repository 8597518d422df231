// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.hpp"
#include "expr/expr.hpp"

namespace fuseplan::cpu {

/// Where a vector of sums stands among the outputs, counted from the tile's first.
struct TilePlace {
  std::int64_t channel = 0, row = 0, column = 0;
  bool operator==(const TilePlace&) const = default;
};

/// A tensor that a chain reads or stores element by element. Steps in bytes.
struct FinishTensor {
  DType dtype = DType::f32;
  bool per_lane = true;  ///< otherwise one value for all lanes
  std::int64_t channel = 0, row = 0, column = 0;
  std::int64_t lane_stride = 0;  ///< where lanes are not contiguous; 0 otherwise
  bool is_contiguous() const { return per_lane && lane_stride == 0; }
  std::int64_t offset(const TilePlace& place) const {
    return place.channel * channel + place.row * row + place.column * column;
  }
  /// Of the first of these vectors in each cache line, if the tensor begins with one.
  std::vector<std::int64_t> line_offsets(std::span<const TilePlace> vectors) const;
  bool operator==(const FinishTensor&) const = default;
};

/// How a tile of sums in registers becomes output. All steps are known when the code is made.
struct FinishSpec {
  Expr body;  ///< SplitChain::body
  bool lanes_are_channels = false;
  bool integers = false;  ///< sums are i32; otherwise f32
  bool bf16 = false;      ///< Extensions::bf16
  FinishTensor output;
  std::vector<FinishTensor> elements;  ///< by SplitChain::elements index
  /// Whole vectors are stored past the caches, and lie at multiples of their size. Who calls
  /// such kernels fences afterwards.
  bool streaming = false;
  /// After each tile the lines that its vectors fill, partial ones taken as whole, are moved from
  /// RowsCall::drain, or nothing if fewer wait.
  bool drains = false;
  std::int64_t channel_root = 0;  ///< bytes from one root's channel values to the next root's

  /// Whether instructions can reach up to `last` from a tile's first sum.
  bool reaches(const TilePlace& last) const;
  bool operator==(const FinishSpec&) const = default;
};

}  // namespace fuseplan::cpu
