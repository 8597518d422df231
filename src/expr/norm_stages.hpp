// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "expr/chain.hpp"

namespace fuseplan {

/// What a launch of a plan with batch normalisation for training does, in two passes over the data
/// with the whole batch's sums between them. With M values per statistic (all of a channel's, or
/// those of all images at one place):
///
///   forward   1. moments of the plan's input x: mean = sum(x) / M, variance = sum((x-mean)^2) / M
///             2. `chain` over x, which reads mean and 1 / sqrt(variance + epsilon)
///   backward  1. `chain.sums` over the plan's input and x, each of its two roots summed: root 0 is
///                d, the gradient of the normalisation's output, root 1 is d * xhat with
///                xhat = (x - savedMean) * savedInvVariance
///             2. `chain` over the same, which reads sum(d) / M and sum(d * xhat) / M:
///                dx = scale * savedInvVariance * (d - sum(d) / M - xhat * sum(d * xhat) / M)
///
/// (Ioffe and Szegedy 2015, arXiv:1502.03167.) `chain` and `chain.sums` share their operand lists,
/// so one Arguments serves both. The two values that the second pass takes from the first stand
/// among the chain's operands under the roles batch_mean and batch_inv_deviation, or gradient_mean
/// and gradient_projection: `computed` says where. Their pointers in Arguments are null; the
/// program puts its own buffers, f32 of the form `statistics`, in their place.
/// Everything else that a launch writes (saved, running and parameters' gradients) is
/// `Arguments::results`, by SplitChain::results index, each null if not wanted.
/// kernels/cpu/norm_results.hpp writes both.
struct NormStages {
  bool backward;
  int op;               ///< index of the batch op
  bool per_channel;     ///< else one statistic per element of an image
  std::int64_t count;   ///< M
  std::int64_t groups;  ///< number of statistics: channels, or elements of an image
  Tensor statistics;    ///< f32, 1 x C x 1... or 1 x C x [D x] H x W, packed in the input's order
  Tensor params;        ///< scale, bias, saved statistics and results: f32, any strides
  /// Indices in SplitChain::channels_in (per_channel) or SplitChain::elements: batch_mean and
  /// batch_inv_deviation, or gradient_mean and gradient_projection; -1: the chain does not read it.
  std::array<int, 2> computed{-1, -1};
  int source = -1;   ///< backward: index of x in SplitChain::elements
  int epsilon = -1;  ///< forward: indices in SplitChain::scalars
  int average_factor = -1;
};

/// Nothing for a plan without such an op; a plan that ends with `statistics` has one pass.
std::optional<NormStages> norm_stages(const Problem& problem, const SplitChain& chain);

/// The statistics that a plan ends with, described as a forward pass that computes nothing for
/// itself; nothing for other plans.
std::optional<NormStages> statistics_stages(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan
