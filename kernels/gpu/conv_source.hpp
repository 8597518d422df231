// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/chain_source.hpp"

namespace fuseplan::gpu {

/// What the kernels of fp_conv.h have in common: a convolution as an implicit matrix
/// product of output pixels x channels.
struct ConvShape {
  ConvShape(const Problem& problem, const SplitChain& chain);
  cpu::ConvGeometry geometry;
  std::vector<cpu::View> elements;  ///< the chain's, broadcast over the output

  std::int64_t depth() const;                         ///< products of a sum
  std::int64_t blocks(int tile_m, int tile_n) const;  ///< of a launch
  /// Depth is counted as the filter lies in memory: taps of one channel, or channels of one tap.
  bool taps_inner() const {
    const auto& g = geometry;
    return g.filter[0] * g.filter[1] * g.filter[2] > 1 && g.weight_stride[1] >= g.weight_stride[4];
  }
  /// A filter's values lie together, in the order in which depth is counted.
  bool dense_filters() const;
  /// Of three spatial axes, or so by the filter's depth or the padding.
  bool is_volume() const {
    return geometry.input.len[2] > 1 || geometry.output.len[2] > 1 || geometry.filter[0] > 1;
  }
};

/// Macros fp_conv.h and its kernels read.
std::string conv_macros(const ConvShape& shape);

/// Strides and lengths, as members of fp_args.
std::string geometry_fields(const ConvShape& shape);
void put_geometry(const ConvShape& shape, ArgumentBlock& block);

/// The members of fp_args between the chain's pointers and its uniform values.
std::string conv_fields(const ConvShape& shape);
std::span<const std::byte> conv_arguments(const ConvShape& shape, const ChainArguments& chain,
                                          const cpu::Arguments& arguments, Scratch& scratch,
                                          bool wide = false);

}  // namespace fuseplan::gpu
