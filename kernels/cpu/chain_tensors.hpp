// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// An operand of a chain, broadcast over the output.
struct ElementView {
  DType dtype{};
  View view;
};
/// By SplitChain::elements index.
std::vector<ElementView> element_views(const SplitChain& chain, const Tensor& output);

/// The tensors that a chain stores and reads element by element, and how they are walked: vectors
/// along one axis, rows of them along another. Refers to the shape it was made from.
struct ChainTensors {
  const View& output;
  DType dtype{};  ///< of the output
  std::span<const ElementView> elements;
  std::size_t lane_axis = 1, row_axis = 4;
};

/// Whether vectors lie along the channels: where both axes would do, unless there is one channel.
bool prefers_channels(const View& output);

/// Why the output or an operand cannot be stored or read in vectors; nothing if they can.
std::optional<std::string> lane_refusal(const ChainTensors& tensors);

/// The rows kernel that applies the chain to sums of type `input`.
RowsSpec rows_spec(const ChainTensors& tensors, const SplitChain& chain, Isa isa,
                   DType input = DType::f32);

/// The same for sums that are finished where they were summed.
FinishSpec finish_spec(const ChainTensors& tensors, const SplitChain& chain);

}  // namespace fuseplan::cpu
