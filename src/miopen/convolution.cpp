// SPDX-License-Identifier: MIT
#include "miopen/convolution.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "miopen/settings.hpp"

namespace fuseplan::miopen {

void Convolution::check_operands(const Shape& x, const Shape& w) const {
  const auto axes = static_cast<std::size_t>(spatial);
  const auto group_count = static_cast<std::size_t>(groups);
  require(x.rank() == axes + 2 && w.rank() == axes + 2, miopenStatusBadParm,
          "a convolution in {} dimensions of input of rank {} with weights of rank {}", spatial,
          x.rank(), w.rank());
  require(x.type == w.type, miopenStatusBadParm, "input of type {} and weights of type {}",
          static_cast<int>(x.type), static_cast<int>(w.type));
  const std::size_t input_side = mode == miopenTranspose ? w.lens[0] : w.lens[1] * group_count;
  require(x.lens[1] == input_side, miopenStatusBadParm,
          "input of {} channels, weights for {} of them in {} groups", x.lens[1], input_side,
          groups);
  require(w.lens[0] % group_count == 0, miopenStatusBadParm,
          "{} filters do not divide into {} groups", w.lens[0], groups);
}

std::vector<std::size_t> Convolution::output_lens(const Shape& x, const Shape& w) const {
  const bool transposed = mode == miopenTranspose;
  std::vector<std::size_t> lens{
      x.lens[0], transposed ? w.lens[1] * static_cast<std::size_t>(groups) : w.lens[0]};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(spatial); ++axis) {
    const auto in = static_cast<long>(x.lens[axis + 2]),
               filter = static_cast<long>(w.lens[axis + 2]);
    const long extent = 1 + dilation[axis] * (filter - 1);
    const long room = in + 2L * pad[axis] - extent;
    const long out = transposed
                         ? stride[axis] * (in - 1) + extent - 2L * pad[axis] + output_padding[axis]
                         : (room < 0 ? 1 : room / stride[axis] + 1);
    lens.push_back(static_cast<std::size_t>(std::max(1L, out)));
  }
  return lens;
}

Shape Convolution::output(const Shape& x, const Shape& w) const {
  Shape y = packed_like(x, output_lens(x, w));
  if (y.type == miopenInt8) y.type = miopenFloat;
  return y;
}

std::string Convolution::op_text(const Shape& w) const {
  require(mode != miopenTranspose, miopenStatusNotImplemented,
          "the convolution is transposed, which fuseplan does not compute");
  const auto numbers = [&](const Numbers& values) {
    return fmt::format("{}",
                       fmt::join(std::span(values).first(static_cast<std::size_t>(spatial)), "x"));
  };
  const bool deterministic =
      attributes[MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC] != 0 || settings().deterministic;
  return fmt::format("conv({},pad={},stride={},dilation={},groups={}{})", text_of(w), numbers(pad),
                     numbers(stride), numbers(dilation), groups,
                     deterministic ? ",deterministic" : "");
}

}  // namespace fuseplan::miopen
