// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// The order in which a pointwise kernel visits the elements of a plan: lanes that are contiguous
/// in the output's memory, rows of them, and outer axes. As few and as long axes as the strides of
/// all tensors allow: packed NCHW becomes planes in rows of H * W lanes, packed NHWC pixels in rows
/// of C lanes, and everything is one long row where neither channels nor broadcasts are read.
struct Walk {
  /// Tensors are numbered: input, output, the channel number as if it were one, then elements.
  static constexpr std::size_t kInput = 0, kOutput = 1, kChannel = 2, kElements = 3;
  struct Axis {
    std::int64_t len = 1;
    std::vector<std::int64_t> stride;  ///< by tensor; in elements, 0 where broadcast
  };
  std::vector<Axis> outer;
  Axis rows, lanes;
  bool lanes_are_channels = false;
  /// Rows follow one another without a gap, in every tensor that has lanes (RowsSpec::touching).
  bool touching = false;

  std::int64_t channels = 1;
  std::vector<DType> dtypes;       ///< by tensor
  std::int64_t row_count() const;  ///< outer axes included
  std::int64_t bytes() const;      ///< read and written by a launch, broadcasts counted once a use
  /// Bytes from lane to lane of a tensor where they are not contiguous; 0 otherwise.
  std::int64_t lane_stride(std::size_t tensor) const;
  /// The first `count` elements, as a rows kernel reads them.
  std::vector<RowsSpec::Element> elements(std::size_t count) const;
  /// Whether there is a tensor in another layout than the output.
  bool is_strided() const;
};

/// What a walk visits: the tensors, as views of the output's lengths.
struct WalkTensors {
  View input, output;
  View channels;  ///< the channel number as if it were a tensor; stride 0 if none is read
  std::vector<View> elements;
  std::vector<DType> dtypes;  ///< by tensor
};
WalkTensors walk_tensors(const Problem& problem, const SplitChain& chain);

/// Axes from the outermost in the output's memory to the innermost, joined where all tensors allow;
/// at least one. The innermost may have any strides.
std::vector<Walk::Axis> joined_axes(const WalkTensors& tensors);
std::vector<Walk::Axis> joined_axes(const Problem& problem, const SplitChain& chain);

/// `reason`, if given, receives why there is none.
std::optional<Walk> plan_walk(const WalkTensors& tensors, std::string* reason = nullptr);
std::optional<Walk> plan_walk(const Problem& problem, const SplitChain& chain,
                              std::string* reason = nullptr);

}  // namespace fuseplan::cpu
