// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "expr/expr.hpp"
#include "plan/problem.hpp"

namespace fuseplan {

/// What the caller supplies for an op with every Execute: pointers and run-time scalars.
enum class Role : std::uint8_t {
#define FUSEPLAN_ROLE(name, text) name,
#include "expr/roles.def"
#undef FUSEPLAN_ROLE
};
const char* name_of(Role role);

/// One run-time input of a chain: which op's argument it is, and for tensors their description.
struct Operand {
  int op = 0;
  Role role{};
  Tensor tensor;  ///< channels: one value per channel; elements: broadcast where its length is 1
  bool operator==(const Operand&) const = default;
};

/// Everything pointwise of a Problem (all ops but the convolution) as one expression.
/// Leaf indices refer to `scalars`, `channels` and `elements`; the only root is the stored value.
struct Chain {
  std::vector<Operand> scalars, channels, elements;
  Expr expr;
  Expr sums;  ///< over the same leaves, what is summed over the batch first; usually no roots
  std::vector<Operand> results;  ///< what is written besides the output
};

Chain lower(const Problem& problem);

/// The chain after the passes, cut by rate, so that each part runs as rarely as it can:
///   uniforms   leaves: constant, scalar (operand index). Once per launch, in double, then f32.
///   channels   leaves: constant, channel (operand index), scalar (root number of `uniforms`).
///   body       leaves: constant, input, previous, element (operand index),
///              channel (root number of `channels`), scalar (root number of `uniforms`).
///              One root.
struct SplitChain {
  std::vector<Operand> scalars, channels_in, elements;
  Expr uniforms, channels, body;
  /// Backward batch normalisation: the chain of its first pass, with a body of two roots and the
  /// operand lists of this one. See norm_stages.hpp.
  std::vector<SplitChain> sums;
  std::vector<Operand> results;  ///< what a launch writes besides the output; any may be left out

  /// Whether something that follows reads the output again while the caches have it.
  bool output_is_reread = false;

  bool reads_previous() const;
  /// Whether the output had better be in the caches, for the chain or for what follows.
  bool keeps_output() const { return reads_previous() || output_is_reread; }
};

}  // namespace fuseplan
