// SPDX-License-Identifier: MIT
#include "support/reference_training.hpp"

#include <functional>

#include "support/reference_operand.hpp"

namespace fuseplan::test {
namespace {

/// Values of one form of parameters, and which of them an element belongs to.
class Groups {
 public:
  Groups(const Dims& params, const Dims& dims) : dims_(params) {
    const Dims lens = over_axes(params, dims.size());
    steps_ = channels_first(lens);
    for (std::size_t a = 0; a < dims.size(); ++a)
      if (lens[a] == 1) steps_[a] = 0;
    per_group_ = element_count(dims) / element_count(params);
  }
  std::size_t of(const Dims& index) const {
    std::int64_t group = 0;
    for (std::size_t a = 0; a < index.size(); ++a) group += index[a] * steps_[a];
    return static_cast<std::size_t>(group);
  }
  std::size_t count() const { return static_cast<std::size_t>(element_count(dims_)); }
  double values_each() const { return static_cast<double>(per_group_); }
  ReferenceResult result() const { return {dims_, std::vector<Bounded>(count(), {0, 0}), {}}; }

 private:
  Dims dims_, steps_;
  std::int64_t per_group_;
};

template <typename F>
void for_each(const ReferenceResult& result, const F& f) {
  Dims index(result.dims.size(), 0);
  for (const Bounded& value : result.values) {
    f(value, index);
    advance(index, result.dims);
  }
}

/// Rounding errors of n f32 operations on independent data: see bound() of
/// reference_convolution.cpp.
double roundings(double n) { return (std::min(n, 8 * std::sqrt(n)) + 2) * kUnit; }

/// The sum of f(element, index) over each group. The summands' own errors may all point one way.
ReferenceResult sums_of(const ReferenceResult& result, const Groups& groups,
                        const std::function<Bounded(Bounded, const Dims&)>& f) {
  ReferenceResult sums = groups.result();
  std::vector<double> squares(groups.count(), 0);
  for_each(result, [&](Bounded value, const Dims& index) {
    const Bounded term = f(value, index);
    Bounded& sum = sums.values[groups.of(index)];
    sum.value += term.value;
    sum.error += term.error + kFlush;
    squares[groups.of(index)] += term.value * term.value;
  });
  const double factor = roundings(groups.values_each());
  for (std::size_t g = 0; g < groups.count(); ++g) {
    Bounded& sum = sums.values[g];
    sum =
        settle(sum.value, sum.error + factor * (std::fabs(sum.value) + 4 * std::sqrt(squares[g])));
  }
  return sums;
}

struct Moments {
  std::vector<Bounded> mean, variance;
};

/// Mean and biased variance. A stable method in f32 works on differences from some value among the
/// data, so its errors are roundings of these differences: of the deviation's size for the mean,
/// relative for the variance, and never of the mean's size, which only the result's own rounding
/// is. Where values differ by next to nothing, what the differences here are in error counts too:
/// Wilkinson's bound of a sum in double.
Moments moments_of(const ReferenceResult& result, const Groups& groups) {
  const double share = 1 / groups.values_each(), factor = roundings(groups.values_each());
  Moments moments{std::vector<Bounded>(groups.count(), {0, 0}),
                  std::vector<Bounded>(groups.count(), {0, 0})};
  for_each(result, [&](Bounded x, const Dims& index) {
    Bounded& mean = moments.mean[groups.of(index)];
    mean.value += x.value * share;
    mean.error += x.error * share;
  });
  for_each(result, [&](Bounded x, const Dims& index) {
    const double apart = x.value - moments.mean[groups.of(index)].value;
    moments.variance[groups.of(index)].value += apart * apart * share;
  });
  for (std::size_t g = 0; g < groups.count(); ++g) {
    Bounded &mean = moments.mean[g], &variance = moments.variance[g];
    mean = settle(mean.value, mean.error + kArithmetic * std::fabs(mean.value) +
                                  factor * std::sqrt(variance.value) + kFlush);
    const double deviation = std::sqrt(variance.value);
    const double own = (groups.values_each() + 2) * 0x1p-53 * (std::fabs(mean.value) + deviation);
    variance =
        settle(variance.value, 2 * factor * variance.value + kFlush + own * (2 * deviation + own));
  }
  return moments;
}

/// x normalised: (x - mean) * inverse. Folded to one multiply-add, as the library may, it rounds
/// most.
Bounded normalised(Bounded x, Bounded mean, Bounded inverse) {
  const Bounded folded = add_shift(x * inverse, -(mean * inverse));
  return settle((x.value - mean.value) * inverse.value, folded.error, folded.determined());
}

/// scale * normalised + bias, in the same way.
Bounded transformed(Bounded x, Bounded mean, Bounded inverse, Bounded scale, Bounded bias) {
  const Bounded folded = add_shift(x * inverse * scale, bias - mean * inverse * scale);
  const double value = (x.value - mean.value) * inverse.value * scale.value + bias.value;
  const bool same_class = std::isfinite(value) == std::isfinite(folded.value);
  return settle(value, folded.error, folded.determined() && same_class);
}

Bounded inverse_root(Bounded x) {
  return apply([](double v) { return 1 / std::sqrt(v); }, x, 2 * kArithmetic);
}

}  // namespace

void run_training(ReferenceResult& result, const BatchNormTraining& op) {
  const Groups groups(op.scale->dims(), result.dims);
  const Moments moments = moments_of(result, groups);
  const double n = groups.values_each();
  ReferenceResult mean = groups.result(), inverse = groups.result();
  ReferenceResult variance = groups.result(), unbiased = groups.result();
  for (std::size_t g = 0; g < groups.count(); ++g) {
    mean.values[g] = moments.mean[g];
    inverse.values[g] = inverse_root(moments.variance[g] + Bounded{op.epsilon});
    variance.values[g] = moments.variance[g];
    unbiased.values[g] = Bounded{n > 1 ? n / (n - 1) : 1} * moments.variance[g];
  }
  const Operand scale(*op.scale, result.dims), bias(*op.bias, result.dims);
  map(result, [&](Bounded x, const Dims& index) {
    const std::size_t g = groups.of(index);
    return transformed(x, mean.values[g], inverse.values[g], scale.at(index), bias.at(index));
  });
  result.statistics = {std::move(mean), std::move(inverse), std::move(variance),
                       std::move(unbiased)};
}

void run_training(ReferenceResult& result, const ActivationBackward& op,
                  const BatchNormBackward* next) {
  if (op.source != nullptr) {
    const Operand source(*op.source, result.dims);
    return map(result, [&](Bounded dy, const Dims& index) {
      return dy * derivative(op.forward, source.at(index));
    });
  }
  if (next == nullptr) throw std::invalid_argument("reference: an activation without its source");
  const Operand x(*next->source, result.dims), scale(*next->scale, result.dims);
  const Operand bias(*next->bias, result.dims), mean(*next->mean, result.dims);
  const Operand inverse(*next->inverse, result.dims);
  map(result, [&](Bounded dy, const Dims& index) {
    return dy * derivative(op.forward, transformed(x.at(index), mean.at(index), inverse.at(index),
                                                   scale.at(index), bias.at(index)));
  });
}

void run_training(ReferenceResult& result, const BatchNormBackward& op) {
  const Groups groups(op.scale->dims(), result.dims);
  const Operand x(*op.source, result.dims), scale(*op.scale, result.dims);
  const Operand mean(*op.mean, result.dims), inverse(*op.inverse, result.dims);
  const auto xhat = [&](const Dims& index) {
    return normalised(x.at(index), mean.at(index), inverse.at(index));
  };
  ReferenceResult dbias = sums_of(result, groups, [](Bounded d, const Dims&) { return d; });
  ReferenceResult dscale =
      sums_of(result, groups, [&](Bounded d, const Dims& index) { return d * xhat(index); });
  const Bounded share{1 / groups.values_each()};
  map(result, [&](Bounded d, const Dims& index) {
    const std::size_t g = groups.of(index);
    const Bounded centred = d - share * dbias.values[g] - xhat(index) * (share * dscale.values[g]);
    return scale.at(index) * inverse.at(index) * centred;
  });
  result.statistics = {std::move(dscale), std::move(dbias)};
}

}  // namespace fuseplan::test
