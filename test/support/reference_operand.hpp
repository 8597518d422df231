// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "support/reference.hpp"
#include "support/threads.hpp"

namespace fuseplan::test {

/// A value read from memory: exact, unless the library flushes it.
inline Bounded loaded(double value) {
  const bool denormal = value != 0 && std::fabs(value) < kFlush;
  return {value, denormal ? std::fabs(value) : 0};
}

/// A tensor read with broadcasting over `dims`; one of rank 1 is read along the channels.
class Operand {
 public:
  Operand(const HostTensor& tensor, const Dims& dims) : tensor_(tensor), steps_(dims.size()) {
    const Dims lens = over_axes(tensor.dims(), dims.size());
    const Dims strides = over_axes(tensor.strides(), dims.size());
    bool fits = lens.size() == dims.size();
    for (std::size_t a = 0; fits && a < dims.size(); ++a) {
      fits = lens[a] == dims[a] || lens[a] == 1;
      steps_[a] = lens[a] == 1 ? 0 : strides[a];
    }
    if (!fits)
      throw std::invalid_argument(fmt::format("reference: operand {} does not broadcast to {}",
                                              to_text(tensor.dims()), to_text(dims)));
  }
  Bounded at(const Dims& index) const {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < index.size(); ++a) offset += index[a] * steps_[a];
    return loaded(tensor_.get_at(offset));
  }

 private:
  const HostTensor& tensor_;
  Dims steps_;
};

/// values[i] = f(values[i], index of i)
template <typename F>
void map(ReferenceResult& result, const F& f) {
  const std::int64_t rows = result.dims[0] * (result.dims.size() > 1 ? result.dims[1] : 1);
  const std::int64_t row_length = element_count(result.dims) / rows;
  parallel_for(rows, [&](std::int64_t row) {
    Dims index(result.dims.size(), 0);
    index[0] = result.dims.size() > 1 ? row / result.dims[1] : row;
    if (result.dims.size() > 1) index[1] = row % result.dims[1];
    Bounded* value = result.values.data() + row * row_length;
    for (std::int64_t i = 0; i < row_length; ++i, ++value, advance(index, result.dims))
      *value = f(*value, index);
  });
}

/// x + shift, where a later scale may be multiplied into both summands before they meet: then each
/// of them is rounded on its own, however much they cancel.
inline Bounded add_shift(Bounded x, Bounded shift) {
  const Bounded sum = x + shift;
  const double apart = kArithmetic * (std::fabs(x.value) + std::fabs(shift.value));
  return settle(sum.value, sum.error + apart, sum.determined());
}

}  // namespace fuseplan::test
