// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "base/containers.hpp"
#include "run/args.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// Which scalars of each op differ from their defaults in one Execute.
using BlendList = SmallVector<Blend, 16>;

/// Throws Error(BadParm), naming the op, for missing arguments, those of another kind of op, and a
/// beta on any op but the last.
BlendList blends_of(const Problem& problem, const Args& args);

/// The pointers and scalars of one Execute in the order the kernel takes them.
class ResolvedArguments {
 public:
  /// Throws Error(BadParm) naming op and argument for a pointer that was set to NULL.
  ResolvedArguments(const Variant& variant, const Args& args);

  const void* weights() const { return weights_; }  ///< raw; nullptr without a convolution
  std::span<const void* const> channels() const { return {channels_.data(), channels_.size()}; }
  std::span<const void* const> elements() const { return {elements_.data(), elements_.size()}; }
  std::span<const double> scalars() const { return {scalars_.data(), scalars_.size()}; }
  std::span<void* const> results() const { return {results_.data(), results_.size()}; }

 private:
  const void* weights_ = nullptr;
  SmallVector<const void*, 16> channels_, elements_;
  SmallVector<double, 16> scalars_;
  SmallVector<void*, 8> results_;
};

Footprint footprint_of(const Problem& problem, const SplitChain& chain);
/// Throws Error(BadParm) if an element of the output overlaps one of an argument, or of the input.
/// It may be in place, with the same pointer, type, lengths and strides, of what is read element by
/// element: an added tensor, a backward op's x, and, without a convolution, the input.
void check_overlap(const Variant& variant, const void* input, const void* output,
                   const ResolvedArguments& arguments);

}  // namespace fuseplan
