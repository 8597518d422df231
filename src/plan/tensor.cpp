// SPDX-License-Identifier: MIT
#include "plan/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "base/status.hpp"
#include "plan/spelled.hpp"

namespace fuseplan {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Axes from innermost to outermost for a layout.
StaticVector<int, kMaxRank> inner_to_outer(int rank, Layout layout) {
  StaticVector<int, kMaxRank> order;
  if (layout == Layout::channels_last && rank >= 3) {
    order.push_back(1);
    for (int axis = rank - 1; axis >= 2; --axis) order.push_back(axis);
    order.push_back(0);
  } else {
    for (int axis = rank - 1; axis >= 0; --axis) order.push_back(axis);
  }
  return order;
}

template <typename Axes>
Dims strides_in_order(const Dims& lens, const Axes& order) {
  Dims strides(lens.size(), 1);
  std::int64_t stride = 1;
  for (int axis : order) {
    strides[axis] = stride;
    // Of a length below 1 there is nothing to step over; `validate` refuses it.
    const std::int64_t length = std::max<std::int64_t>(1, lens[axis]);
    require(stride <= kMax / length, Status::BadParm,
            "a tensor of {} elements has more than 2^63 - 1 of them", Spelled{lens});
    stride *= length;
  }
  return strides;
}

// Axes from innermost to outermost, read off the strides; ties go to the later axis.
StaticVector<int, kMaxRank> axes_by_stride(const Tensor& tensor) {
  StaticVector<int, kMaxRank> order(tensor.lens.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return tensor.strides[a] < tensor.strides[b]; });
  return order;
}

const char* layout_text(Layout layout, int rank) {
  if (layout == Layout::channels_last) return rank == 5 ? "ndhwc" : "nhwc";
  return rank == 5 ? "ncdhw" : "nchw";
}

}  // namespace

std::int64_t Tensor::elements() const {
  return std::accumulate(lens.begin(), lens.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t Tensor::bytes() const {
  std::int64_t last = 0;
  for (int axis = 0; axis < rank(); ++axis) last += (lens[axis] - 1) * strides[axis];
  return size_of(dtype) * static_cast<std::size_t>(last + 1);
}

Layout Tensor::layout() const {
  // Strides of axes of length 1 say nothing about memory, so they are left out of the comparison.
  const auto matches = [&](Layout layout) {
    const Dims packed = packed_strides(lens, layout);
    for (int axis = 0; axis < rank(); ++axis)
      if (lens[axis] > 1 && strides[axis] != packed[axis]) return false;
    return true;
  };
  // A tensor that is both (one channel, or one pixel) keeps the layout its full strides spell.
  if (strides == packed_strides(lens, Layout::channels_first)) return Layout::channels_first;
  if (strides == packed_strides(lens, Layout::channels_last)) return Layout::channels_last;
  if (matches(Layout::channels_first)) return Layout::channels_first;
  if (matches(Layout::channels_last)) return Layout::channels_last;
  return Layout::strided;
}

Dims packed_strides(const Dims& lens, Layout layout) {
  return strides_in_order(lens, inner_to_outer(static_cast<int>(lens.size()), layout));
}

Tensor packed(DType dtype, const Dims& lens, Layout layout) {
  return Tensor{dtype, lens, packed_strides(lens, layout)};
}

Tensor with_lens(const Tensor& like, const Dims& lens) {
  const Layout layout = like.layout();
  if (layout != Layout::strided) return packed(like.dtype, lens, layout);
  return Tensor{like.dtype, lens, strides_in_order(lens, axes_by_stride(like))};
}

void require_storage(const Tensor& tensor, std::string_view what) {
  require(is_storage(tensor.dtype), Status::BadParm, "{} is {}, expected f32, f16, bf16, i8 or u8",
          what, name_of(tensor.dtype));
}

Tensor computed(Tensor tensor) {
  if (is_byte(tensor.dtype)) tensor.dtype = DType::f32;
  return tensor;
}

void validate(const Tensor& tensor, std::string_view what) {
  const auto& [dtype, lens, strides] = tensor;
  require(find_dtype(dtype) != nullptr, Status::BadParm, "{}: {} is no data type", what,
          static_cast<int>(dtype));
  require(!lens.empty() && lens.size() == strides.size(), Status::BadParm,
          "{}: expected 1 to {} dimensions with a stride each, got {} and {}", what, kMaxRank,
          lens.size(), strides.size());
  std::int64_t budget = (kMax / 8) - 1;  // elements of the widest type
  std::int64_t elements = 1;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    require(lens[axis] > 0 && strides[axis] > 0, Status::BadParm,
            "{}: dimension {} has length {} and stride {}, both must be positive", what, axis,
            lens[axis], strides[axis]);
    require(lens[axis] - 1 <= budget / strides[axis], Status::BadParm,
            "{}: {} with strides {} spans more than 2^63 - 1 bytes", what, Spelled{lens},
            Spelled{strides, ','});
    budget -= (lens[axis] - 1) * strides[axis];
    require(elements <= kMax / lens[axis], Status::BadParm, "{}: {} is more than 2^63 - 1 elements",
            what, Spelled{lens});
    elements *= lens[axis];
  }
}

std::string dims_text(const Dims& dims, char separator) {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += separator;
    text += std::to_string(dims[i]);
  }
  return text;
}

Dims parse_dims(std::string_view text, char separator) {
  Dims dims;
  const std::string_view whole = text;
  while (true) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc{} && dims.size() < kMaxRank, Status::InvalidValue,
            "expected 1 to {} numbers joined by '{}', got \"{}\"", kMaxRank, separator, whole);
    dims.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return dims;
    require(text.front() == separator, Status::InvalidValue,
            "expected numbers joined by '{}', got \"{}\"", separator, whole);
    text.remove_prefix(1);
  }
}

std::string to_text(const Tensor& tensor) {
  const std::string head = fmt::format("{}:{}", name_of(tensor.dtype), dims_text(tensor.lens));
  for (Layout layout : {Layout::channels_first, Layout::channels_last})
    if (tensor.strides == packed_strides(tensor.lens, layout))
      return fmt::format("{}:{}", head, layout_text(layout, tensor.rank()));
  return fmt::format("{}:s{}", head, dims_text(tensor.strides, ','));
}

Tensor parse_tensor(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  require(first != text.npos, Status::InvalidValue,
          "expected a tensor such as f32:1x64x56x56:nchw, got \"{}\"", text);
  const auto dtype = parse_dtype(text.substr(0, first));
  require(dtype.has_value(), Status::InvalidValue, "\"{}\" of \"{}\" is no data type",
          text.substr(0, first), text);
  const Dims lens = parse_dims(text.substr(first + 1, second - first - 1));
  const std::string_view layout =
      second == text.npos ? std::string_view("nchw") : text.substr(second + 1);
  Tensor tensor{*dtype, lens, {}};
  if (layout == "nhwc" || layout == "ndhwc") {
    tensor.strides = packed_strides(lens, Layout::channels_last);
  } else if (layout == "nchw" || layout == "ncdhw") {
    tensor.strides = packed_strides(lens, Layout::channels_first);
  } else {
    require(layout.starts_with('s'), Status::InvalidValue,
            "\"{}\" of \"{}\" is no layout; expected nchw, nhwc, ncdhw, ndhwc or s<strides>",
            layout, text);
    tensor.strides = parse_dims(layout.substr(1), ',');
  }
  validate(tensor, text);
  return tensor;
}

}  // namespace fuseplan
