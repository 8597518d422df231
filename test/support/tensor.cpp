// SPDX-License-Identifier: MIT
#include "support/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace fuseplan::test {
namespace {

constexpr std::size_t kAlignment = 64;
// Integer types have no NaN: to them it is two numbers that zeros around the data would not be.
// The 16-bit word 0xffa5 is a NaN as f16 and as bf16, and two of them are one as f32; as bf16 and
// f32 it signals, so that even a copy through arithmetic changes it.
constexpr unsigned char kCanary[2] = {0xa5, 0xff};

}  // namespace

std::int64_t element_count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_text(const Dims& dims) { return fmt::format("{}", fmt::join(dims, "x")); }

bool advance(Dims& index, const Dims& dims) {
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

Dims strides_in_order(const Dims& dims, const Dims& order, Random* padding) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = stride;
    stride *= dims[axis];
    if (padding != nullptr) stride += padding->between(1, 3);
  }
  return strides;
}

Dims channels_first(const Dims& dims) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  return strides_in_order(dims, order);
}

Dims channels_last(const Dims& dims) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return strides_in_order(dims, order);
}

Dims padded(const Dims& dims, Random& random) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  return strides_in_order(dims, order, &random);
}

Dims permuted(const Dims& dims, Random& random) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.between(0, i - 1))]);
  return strides_in_order(dims, order, &random);
}

HostTensor::HostTensor(Element type, Dims dims, Dims strides, int misalign)
    : type_(type), dims_(std::move(dims)), strides_(std::move(strides)), misalign_(misalign) {
  if (dims_.empty() || dims_.size() != strides_.size() || element_count(dims_) <= 0)
    throw std::invalid_argument("a test tensor needs positive lengths and a stride for each");
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < dims_.size(); ++axis)
    last += (dims_[axis] - 1) * strides_[axis];
  bytes_ = static_cast<std::size_t>(last + 1) * size_of(type_);
  allocate();
}

void HostTensor::allocate() {
  storage_.resize(bytes_ + 2 * kGuard + 2 * kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + kGuard;
  start_ = kGuard + (kAlignment - address % kAlignment) % kAlignment + misaligned_bytes();
  for (std::size_t i = 0; i < storage_.size(); ++i) storage_[i] = kCanary[(i + start_) % 2];
}

HostTensor::HostTensor(const HostTensor& other)
    : type_(other.type_),
      dims_(other.dims_),
      strides_(other.strides_),
      misalign_(other.misalign_),
      bytes_(other.bytes_) {
  allocate();
  std::memcpy(data(), other.data(), bytes_);
}

HostTensor& HostTensor::operator=(const HostTensor& other) { return *this = HostTensor(other); }

std::size_t HostTensor::misaligned_bytes() const {
  return static_cast<std::size_t>(misalign_) * size_of(type_) % kAlignment;
}

std::int64_t HostTensor::offset(const Dims& index) const {
  return std::inner_product(index.begin(), index.end(), strides_.begin(), std::int64_t{0});
}

template <typename F>
void HostTensor::for_each_offset(const F& visit) const {
  Dims index(dims_.size() - 1, 0);
  const Dims outer(dims_.begin(), dims_.end() - 1);
  do {
    const std::int64_t first = offset(index);
    for (std::int64_t i = 0; i < dims_.back(); ++i) visit(first + i * strides_.back());
  } while (advance(index, outer));
}

double HostTensor::get_at(std::int64_t offset) const { return load_element(type_, data(), offset); }

void HostTensor::set_at(std::int64_t offset, double value) {
  store_element(type_, data(), offset, value);
}

void HostTensor::fill(double value) {
  for_each_offset([&](std::int64_t offset) { set_at(offset, value); });
}

std::vector<double> HostTensor::values() const {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(elements()));
  for_each_offset([&](std::int64_t offset) { result.push_back(get_at(offset)); });
  return result;
}

void HostTensor::set_values(std::span<const double> values) {
  if (static_cast<std::int64_t>(values.size()) != elements())
    throw std::invalid_argument(
        fmt::format("{} values for a {} tensor", values.size(), to_text(dims_)));
  std::size_t next = 0;
  for_each_offset([&](std::int64_t offset) { set_at(offset, values[next++]); });
}

std::string HostTensor::damage() const {
  std::vector<char> owned(storage_.size());
  const std::size_t size = size_of(type_);
  for_each_offset([&](std::int64_t offset) {
    std::fill_n(owned.data() + start_ + static_cast<std::size_t>(offset) * size, size, 1);
  });
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    if (owned[i] || storage_[i] == kCanary[(i + start_) % 2]) continue;
    const auto at = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(start_);
    return fmt::format("byte {} of a {} tensor ({} strides {}, {} bytes) was overwritten", at,
                       name_of(type_), to_text(dims_), to_text(strides_), bytes_);
  }
  return {};
}

}  // namespace fuseplan::test
