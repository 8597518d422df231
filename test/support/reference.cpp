// SPDX-License-Identifier: MIT
#include "support/reference.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "support/reference_convolution.hpp"
#include "support/threads.hpp"

namespace fuseplan::test {
namespace {

/// A value read from memory: exact, unless the library flushes it.
Bounded loaded(double value) {
  const bool denormal = value != 0 && std::fabs(value) < kFlush;
  return {value, denormal ? std::fabs(value) : 0};
}

/// A tensor read with broadcasting over `dims`.
class Operand {
 public:
  Operand(const HostTensor& tensor, const Dims& dims) : tensor_(tensor), steps_(dims.size()) {
    bool fits = tensor.dims().size() == dims.size();
    for (std::size_t a = 0; fits && a < dims.size(); ++a) {
      fits = tensor.dims()[a] == dims[a] || tensor.dims()[a] == 1;
      steps_[a] = tensor.dims()[a] == 1 ? 0 : tensor.strides()[a];
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
Bounded add_shift(Bounded x, Bounded shift) {
  const Bounded sum = x + shift;
  const double apart = kArithmetic * (std::fabs(x.value) + std::fabs(shift.value));
  return settle(sum.value, sum.error + apart, sum.determined());
}

void run(ReferenceResult& result, const Bias& op) {
  const Operand bias(*op.bias, result.dims);
  map(result, [&](Bounded x, const Dims& index) { return add_shift(x, bias.at(index)); });
}

void run(ReferenceResult& result, const BatchNorm& op) {
  const Operand scale(*op.scale, result.dims), bias(*op.bias, result.dims);
  const Operand mean(*op.mean, result.dims), variance(*op.variance, result.dims);
  map(result, [&](Bounded x, const Dims& index) {
    const Bounded s = scale.at(index), b = bias.at(index), m = mean.at(index);
    const Bounded spread = variance.at(index) + Bounded{op.epsilon};
    const Bounded inverse =
        apply([](double v) { return 1 / std::sqrt(v); }, spread, 2 * kArithmetic);
    const double value = s.value * (x.value - m.value) * inverse.value + b.value;
    // Folded to one multiply-add per element, as the library may, it rounds most.
    const Bounded folded = add_shift(s * inverse * x, b - m * s * inverse);
    const bool same_class = std::isfinite(value) == std::isfinite(folded.value);
    return settle(value, folded.error, folded.determined() && same_class);
  });
}

void run(ReferenceResult& result, const Activation& op) {
  map(result, [&](Bounded x, const Dims&) { return activate(op, x); });
}

void run(ReferenceResult& result, const Add& op) {
  const Operand other(*op.other, result.dims);
  const Bounded scale{static_cast<float>(op.scale)};
  map(result, [&](Bounded x, const Dims& index) {
    const Bounded z = other.at(index);
    return x + (op.scale == 1 ? z : scale * z);
  });
}

void run(ReferenceResult& result, const ScaleShift& op) {
  const Operand scale(*op.scale, result.dims), shift(*op.shift, result.dims);
  map(result, [&](Bounded x, const Dims& index) {
    return add_shift(scale.at(index) * x, shift.at(index));
  });
}

void run(ReferenceResult&, const Convolution&) {
  throw std::invalid_argument("reference: a convolution must be the first step");
}

void blend(ReferenceResult& result, const Step& step, const HostTensor* previous) {
  const Bounded alpha{static_cast<float>(step.alpha)}, beta{static_cast<float>(step.beta)};
  if (step.alpha != 1) map(result, [&](Bounded x, const Dims&) { return alpha * x; });
  if (step.beta == 0) return;
  if (previous == nullptr) throw std::invalid_argument("reference: beta needs a previous output");
  const Operand old(*previous, result.dims);
  map(result, [&](Bounded x, const Dims& index) { return x + beta * old.at(index); });
}

/// Between two steps a value that f32 cannot hold is infinite in one library and, after folding,
/// finite in another.
void limit_to_f32(ReferenceResult& result) {
  for (Bounded& x : result.values)
    if (std::isfinite(x.value) && !(std::fabs(x.value) + x.error <= FLT_MAX))
      x.error = kUndetermined;
}

}  // namespace

ReferenceResult run_reference(const HostTensor& input, std::span<const Step> steps,
                              const HostTensor* previous) {
  ReferenceResult result;
  const auto* conv = steps.empty() ? nullptr : std::get_if<Convolution>(&steps.front().op);
  if (conv != nullptr) {
    result = convolve(input, *conv);
  } else {
    result.dims = input.dims();
    for (double value : input.values()) result.values.push_back(loaded(value));
  }
  for (const Step& step : steps) {
    const bool last = &step == &steps.back();
    if (step.beta != 0 && !last)
      throw std::invalid_argument("reference: beta before the last step");
    if (conv == nullptr || &step != &steps.front())
      std::visit([&](const auto& op) { run(result, op); }, step.op);
    blend(result, step, previous);
    if (!last) limit_to_f32(result);
  }
  return result;
}

}  // namespace fuseplan::test
