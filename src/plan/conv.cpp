// SPDX-License-Identifier: MIT
#include "plan/conv.hpp"

#include "base/status.hpp"

namespace fuseplan {
namespace {

// Sums of 8-bit products are exact in 32 bits: 255 * 128 * 65793 is the last below 2^31.
constexpr std::int64_t kMostByteProducts = 65793;

void check_types(const Tensor& input, const Tensor& weights) {
  require_storage(input, "convolution input");
  if (!is_byte(input.dtype)) {
    require(input.dtype == weights.dtype, Status::BadParm,
            "convolution input is {} and weights are {}, expected one type", name_of(input.dtype),
            name_of(weights.dtype));
    return;
  }
  require(weights.dtype == DType::i8, Status::BadParm,
          "convolution input is {} and weights are {}, expected i8 weights", name_of(input.dtype),
          name_of(weights.dtype));
  const std::int64_t products = weights.elements() / weights.lens[0];
  require(products <= kMostByteProducts, Status::BadParm,
          "each output sums {} products of 8-bit integers, expected at most {}, which 32 bits hold",
          products, kMostByteProducts);
}

}  // namespace

void validate(const Conv& conv) {
  const std::size_t axes = conv.stride.size();
  const auto require_axes = [&](std::size_t given, const char* what) {
    require(
        axes >= 1 && axes <= 3 && given == axes, Status::BadParm,
        "a convolution needs padding, stride and dilation for the same 1 to 3 axes; it has {} of "
        "{}, strides of {}",
        what, given, axes);
  };
  require_axes(conv.pad_lo.size(), "padding");
  require_axes(conv.pad_hi.size(), "padding behind");
  require_axes(conv.dilation.size(), "dilations");
  // Bounds keep every later product far from overflow; no real layer comes near them.
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    require(conv.pad_lo[axis] >= 0 && conv.pad_hi[axis] >= 0 && conv.pad_lo[axis] <= kLimit &&
                conv.pad_hi[axis] <= kLimit,
            Status::BadParm, "padding of axis {} is {} and {}, expected 0 to 2^30", axis,
            conv.pad_lo[axis], conv.pad_hi[axis]);
    require(conv.stride[axis] >= 1 && conv.stride[axis] <= kLimit, Status::BadParm,
            "stride of axis {} is {}, expected 1 to 2^30", axis, conv.stride[axis]);
    require(conv.dilation[axis] >= 1 && conv.dilation[axis] <= kLimit, Status::BadParm,
            "dilation of axis {} is {}, expected 1 to 2^30", axis, conv.dilation[axis]);
  }
  require(conv.groups >= 1 && conv.groups <= kLimit, Status::BadParm,
          "group count is {}, expected 1 to 2^30", conv.groups);
}

Tensor conv_output(const Conv& conv, const Tensor& input, const Tensor& weights) {
  validate(conv);
  validate(input, "convolution input");
  validate(weights, "convolution weights");
  require(input.spatial() == conv.spatial() && weights.rank() == input.rank(), Status::BadParm,
          "a convolution over {} axes needs input and weights of rank {}, got {} and {}",
          conv.spatial(), conv.spatial() + 2, input.rank(), weights.rank());
  check_types(input, weights);
  const std::int64_t groups = conv.groups;
  require(input.lens[1] % groups == 0 && weights.lens[1] == input.lens[1] / groups, Status::BadParm,
          "input has {} channels in {} groups, so weights need {}/{} input channels, got {}",
          input.lens[1], groups, input.lens[1], groups, weights.lens[1]);
  require(weights.lens[0] % groups == 0, Status::BadParm,
          "{} filters cannot be divided into {} groups", weights.lens[0], groups);
  Dims lens{input.lens[0], weights.lens[0]};
  for (int axis = 0; axis < conv.spatial(); ++axis) {
    const std::int64_t in = input.lens[axis + 2], filter = weights.lens[axis + 2];
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;
    require(in < kLimit && filter < kLimit, Status::BadParm,
            "axis {} has length {} and filter length {}, expected less than 2^31", axis, in,
            filter);
    const std::int64_t reach = 1 + conv.dilation[axis] * (filter - 1);
    const std::int64_t room = in + conv.pad_lo[axis] + conv.pad_hi[axis];
    require(reach <= room, Status::BadParm,
            "filter of length {} (dilated: {}) does not fit into axis {} of length {} with "
            "padding {} and {}",
            filter, reach, axis, in, conv.pad_lo[axis], conv.pad_hi[axis]);
    lens.push_back((room - reach) / conv.stride[axis] + 1);
  }
  const Tensor output = computed(with_lens(input, lens));
  validate(output, "convolution output");
  return output;
}

}  // namespace fuseplan
