// SPDX-License-Identifier: MIT
#include "support/reference_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/threads.hpp"

namespace fuseplan::test {
namespace {

constexpr int kTile = 4;             // output pixels whose sums are in registers together
constexpr std::int64_t kBlock = 16;  // output pixels whose inputs are gathered together

using Pair = double __attribute__((vector_size(16), may_alias));

/// Everything the inner loops need, with x and w as packed doubles.
struct Work {
  const Convolution& conv;
  Dims in, out, filter;  // spatial lengths
  std::int64_t n, c, k;  // per image, and per group: input and output channels
  std::int64_t taps = 0, in_pixels = 0, out_pixels = 0;
  std::vector<double> x, w;
  bool finite_weights = true, integers = false;
  double flushed = 0;  // largest error that one product can have from flushed operands
};

/// Offset into one input plane of each tap of one output pixel; -1 where it falls outside.
void locate_taps(const Work& work, std::int64_t pixel, std::int64_t* offsets) {
  const std::size_t axes = work.out.size();
  Dims origin(axes), tap(axes, 0);
  for (std::size_t a = axes; a-- > 0;) {
    origin[a] = pixel % work.out[a] * work.conv.stride[a] - work.conv.pad_lo[a];
    pixel /= work.out[a];
  }
  do {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < axes && offset >= 0; ++a) {
      const std::int64_t at = origin[a] + tap[a] * work.conv.dilation[a];
      offset = at < 0 || at >= work.in[a] ? -1 : offset * work.in[a] + at;
    }
    *offsets++ = offset;
  } while (advance(tap, work.filter));
}

/// Sum of products and sum of their squares.
struct Sums {
  double value = 0, squares = 0;
};

/// kTile dot products of length `terms`: weights[j] with patch[j * kBlock + 0 ... kTile).
void dot_tile(const double* weights, const double* patch, std::int64_t terms, Sums* sums) {
  Pair value[2] = {}, squares[2] = {};
  for (std::int64_t j = 0; j < terms; ++j) {
    for (int i = 0; i < 2; ++i) {
      const Pair product = *reinterpret_cast<const Pair*>(patch + j * kBlock + 2 * i) * weights[j];
      value[i] += product;
      squares[i] += product * product;
    }
  }
  for (int p = 0; p < kTile; ++p) sums[p] = {value[p / 2][p % 2], squares[p / 2][p % 2]};
}

/// The same for one pixel, leaving out the taps outside the input instead of taking them as zeros:
/// zero times an infinite weight would be NaN.
Sums dot_inside(const double* weights, const double* patch, const std::int64_t* offsets,
                std::int64_t terms, std::int64_t taps) {
  Sums sums;
  for (std::int64_t j = 0; j < terms; ++j) {
    if (offsets[j % taps] < 0) continue;
    const double product = weights[j] * patch[j * kBlock];
    sums.value += product;
    sums.squares += product * product;
  }
  return sums;
}

/// Bound on the error of summing n products p in f32, with or without fused multiply-add.
///
/// Summation in any order is off by at most u times the sum of its n partial sums' magnitudes
/// (Higham, section 4.2). For independent rounding errors n becomes 8 sqrt(n), with a probability
/// of failure below 2n exp(-32) (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4
/// with lambda = 8). A partial sum in an order unrelated to the data is a share of the whole, which
/// is at most |sum p|, plus the deviation of a random subset, at most |p|_2 / 2 in root mean square
/// (sampling without replacement); eight times that is allowed. Two more units are for weights that
/// were scaled in advance.
Bounded bound(const Sums& sums, std::int64_t terms, double flushed) {
  const auto n = static_cast<double>(terms);
  const double norm = std::sqrt(sums.squares);
  const bool overflows = std::isfinite(norm) && std::sqrt(n) * norm > FLT_MAX;
  const double factor = std::min(n, 8 * std::sqrt(n)) + 2;
  const double error = factor * kUnit * (std::fabs(sums.value) + 4 * norm);
  const double flush = n * (flushed + (norm == 0 ? 0 : kFlush));
  return settle(sums.value, error + flush, !overflows);
}

/// Sums of integers are exact, in double as in the library, which then rounds them to f32.
Bounded whole(const Sums& sums) { return {static_cast<float>(sums.value)}; }

/// One block of output pixels of one image and one group.
void convolve_block(const Work& work, std::int64_t image, std::int64_t group, std::int64_t first,
                    Bounded* output) {
  const std::int64_t count = std::min(kBlock, work.out_pixels - first);
  const std::int64_t terms = work.c * work.taps;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(work.taps * kBlock), -1);
  std::vector<double> patch(static_cast<std::size_t>(terms * kBlock));
  for (std::int64_t p = 0; p < count; ++p) locate_taps(work, first + p, &offsets[p * work.taps]);

  const double* planes =
      work.x.data() + (image * work.conv.groups + group) * work.c * work.in_pixels;
  for (std::int64_t j = 0; j < terms; ++j) {
    const double* plane = planes + j / work.taps * work.in_pixels;
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t offset = offsets[p * work.taps + j % work.taps];
      if (offset >= 0) patch[j * kBlock + p] = plane[offset];
    }
  }
  for (std::int64_t k = group * work.k; k < (group + 1) * work.k; ++k) {
    const double* weights = work.w.data() + k * terms;
    Bounded* row = output + (image * work.conv.groups * work.k + k) * work.out_pixels + first;
    for (std::int64_t p = 0; p < count; p += kTile) {
      Sums sums[kTile];
      dot_tile(weights, &patch[p], terms, sums);
      for (std::int64_t i = p; i < std::min(p + kTile, count); ++i) {
        if (!work.finite_weights)
          sums[i - p] = dot_inside(weights, &patch[i], &offsets[i * work.taps], terms, work.taps);
        row[i] = work.integers ? whole(sums[i - p]) : bound(sums[i - p], terms, work.flushed);
      }
    }
  }
}

void check(bool condition, const char* expected) {
  if (!condition) throw std::invalid_argument(fmt::format("reference convolution: {}", expected));
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double value : values)
    if (std::isfinite(value)) result = std::max(result, std::fabs(value));
  return result;
}

bool has_denormal(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](double v) { return v != 0 && std::fabs(v) < kFlush; });
}

void round_to_tf32(std::vector<double>& values, Convolution::Tf32 way) {
  constexpr double kSignificand = 1 << 11;
  const auto rounded = [way](double scaled) {
    return way == Convolution::Tf32::half_to_even ? std::nearbyint(scaled) : std::round(scaled);
  };
  for (double& value : values) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);  // 0.5 to 1
    if (std::isfinite(value))
      value = std::ldexp(rounded(fraction * kSignificand) / kSignificand, exponent);
  }
}

}  // namespace

Dims convolution_dims(const Dims& input, const Convolution& conv) {
  const Dims& weights = conv.weights->dims();
  const std::size_t axes = input.size() - 2;
  check(input.size() >= 3 && weights.size() == input.size(), "input and weights of one rank >= 3");
  check(conv.stride.size() == axes && conv.dilation.size() == axes && conv.pad_lo.size() == axes &&
            conv.pad_hi.size() == axes,
        "stride, dilation and padding for each spatial axis");
  check(conv.groups > 0 && input[1] == weights[1] * conv.groups && weights[0] % conv.groups == 0,
        "C = groups * C of the weights, and K divisible by groups");
  Dims dims = {input[0], weights[0]};
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t span = 1 + conv.dilation[a] * (weights[a + 2] - 1);
    const std::int64_t room = input[a + 2] + conv.pad_lo[a] + conv.pad_hi[a] - span;
    check(room >= 0, "a filter no larger than the padded input");
    dims.push_back(room / conv.stride[a] + 1);
  }
  return dims;
}

ReferenceResult convolve(const HostTensor& input, const Convolution& conv) {
  ReferenceResult result{convolution_dims(input.dims(), conv), {}};
  const Dims &in = input.dims(), &weights = conv.weights->dims();
  Work work{.conv = conv,
            .in = Dims(in.begin() + 2, in.end()),
            .out = Dims(result.dims.begin() + 2, result.dims.end()),
            .filter = Dims(weights.begin() + 2, weights.end()),
            .n = in[0],
            .c = weights[1],
            .k = weights[0] / conv.groups,
            .x = input.values(),
            .w = conv.weights->values()};
  if (conv.tf32 != Convolution::Tf32::no) {
    round_to_tf32(work.x, conv.tf32);
    round_to_tf32(work.w, conv.tf32);
  }
  work.integers = integers_of(input.type()) && integers_of(conv.weights->type());
  work.taps = element_count(work.filter);
  work.in_pixels = element_count(work.in);
  work.out_pixels = element_count(work.out);
  work.finite_weights =
      std::all_of(work.w.begin(), work.w.end(), [](double v) { return std::isfinite(v); });
  work.flushed = (has_denormal(work.x) ? kFlush * largest(work.w) : 0) +
                 (has_denormal(work.w) ? kFlush * largest(work.x) : 0);

  result.values.resize(static_cast<std::size_t>(element_count(result.dims)));
  const std::int64_t blocks = (work.out_pixels + kBlock - 1) / kBlock;
  parallel_for(work.n * conv.groups * blocks, [&](std::int64_t task) {
    const std::int64_t image = task / blocks / conv.groups;
    convolve_block(work, image, task / blocks % conv.groups, task % blocks * kBlock,
                   result.values.data());
  });
  return result;
}

}  // namespace fuseplan::test
