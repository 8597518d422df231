// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "miopen/shape.hpp"

namespace fuseplan::miopen {

/// MIOpen's descriptor, which can say more than fuseplan runs: transposed convolutions, and filters
/// that do not fit.
struct Convolution {
  static constexpr int kMaxSpatial = 3;
  using Numbers = std::array<int, kMaxSpatial>;

  miopenConvolutionMode_t mode = miopenConvolution;
  int spatial = 2;
  Numbers pad{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1}, output_padding{0, 0, 0};
  int groups = 1;
  std::array<int, 3> attributes{0, 0, 0};

  /// Throws Error(BadParm) for types, ranks or channels that no convolution can have.
  void check_operands(const Shape& x, const Shape& w) const;
  std::vector<std::size_t> output_lens(const Shape& x, const Shape& w) const;
  /// Packed, in x's layout and type; float for int8.
  Shape output(const Shape& x, const Shape& w) const;
  /// "conv(...)". Throws Error(NotImplemented) for a transposed one.
  std::string op_text(const Shape& w) const;
};

}  // namespace fuseplan::miopen
