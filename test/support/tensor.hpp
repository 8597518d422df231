// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/element.hpp"
#include "support/random.hpp"

namespace fuseplan::test {

/// Lengths, strides or indices in N, C, [D,] H, W order.
using Dims = std::vector<std::int64_t>;

std::int64_t element_count(const Dims& dims);
std::string to_text(const Dims& dims);

/// Steps `index` to the next element of `dims`, last axis fastest; false after the last one.
bool advance(Dims& index, const Dims& dims);

// Strides in elements. `order` lists the axes from outermost to innermost; padding puts a random
// gap of 1 to 3 elements behind each axis that has something outside it.
Dims strides_in_order(const Dims& dims, const Dims& order, Random* padding = nullptr);
Dims channels_first(const Dims& dims);  ///< packed NCHW or NCDHW
Dims channels_last(const Dims& dims);   ///< packed NHWC or NDHWC
Dims padded(const Dims& dims, Random& random);
Dims permuted(const Dims& dims, Random& random);  ///< random axis order, with padding

/// A tensor in host memory of its own. Every byte that is no element's (in front, behind, and in
/// the gaps that strides leave) holds a canary pattern that is a NaN in all real types: reading it
/// shows in the result, writing it shows in `damage()`.
class HostTensor {
 public:
  /// Elements start as canaries too. `misalign` moves the data that many elements off a 64-byte
  /// boundary.
  HostTensor(Element type, Dims dims, Dims strides, int misalign = 0);
  HostTensor(Element type, const Dims& dims) : HostTensor(type, dims, channels_first(dims)) {}
  /// Same type, lengths and strides, fresh canaries.
  HostTensor like() const { return {type_, dims_, strides_, misalign_}; }

  HostTensor(const HostTensor& other);
  HostTensor& operator=(const HostTensor& other);
  HostTensor(HostTensor&&) = default;
  HostTensor& operator=(HostTensor&&) = default;

  Element type() const { return type_; }
  const Dims& dims() const { return dims_; }
  const Dims& strides() const { return strides_; }
  std::int64_t elements() const { return element_count(dims_); }
  /// Bytes from the first to one past the last element.
  std::size_t bytes() const { return bytes_; }

  void* data() { return storage_.data() + start_; }
  const void* data() const { return storage_.data() + start_; }

  /// The data with the canaries next to it, of the same size at any time: what a copy elsewhere
  /// needs for damage() to notice what is written beside the elements there.
  static constexpr std::size_t kGuard = 256;  ///< bytes on either side of the data
  std::span<unsigned char> guarded() {
    return std::span(storage_).subspan(start_ - kGuard, bytes_ + 2 * kGuard);
  }
  /// Bytes that the data lies off a 64-byte boundary.
  std::size_t misaligned_bytes() const;

  double get(const Dims& index) const { return get_at(offset(index)); }
  void set(const Dims& index, double value) { set_at(offset(index), value); }
  /// By offset in elements.
  double get_at(std::int64_t offset) const;
  void set_at(std::int64_t offset, double value);
  std::int64_t offset(const Dims& index) const;

  void fill(double value);
  /// Every element, in order of index, last axis fastest.
  std::vector<double> values() const;
  void set_values(std::span<const double> values);

  /// Empty while all canaries live; otherwise says where the first dead one lies.
  std::string damage() const;

 private:
  void allocate();
  /// Calls `visit` with each element's offset, in order of index.
  template <typename F>
  void for_each_offset(const F& visit) const;

  Element type_;
  Dims dims_, strides_;
  int misalign_;
  std::size_t bytes_ = 0, start_ = 0;
  std::vector<unsigned char> storage_;
};

}  // namespace fuseplan::test
