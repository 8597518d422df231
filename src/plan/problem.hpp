// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/op.hpp"

namespace fuseplan {

/// The immutable, canonical form of a plan: what solvers, cache keys, tuning tables, logs, the
/// driver and bug reports speak of. Two plans with equal Problems run the same kernel.
class Problem {
 public:
  /// Checks every op against the tensor before it. `output` of rank 0 means the last op's derived
  /// output; otherwise its lengths must equal it, and type and strides are the caller's choice, as
  /// long as no two elements share memory.
  Problem(Tensor input, std::vector<Op> ops, Tensor output = {});

  const Tensor& input() const { return values_.front(); }
  const Tensor& output() const { return output_; }
  const std::vector<Op>& ops() const { return ops_; }
  /// Tensor that op `index` reads.
  const Tensor& input_of(std::size_t index) const { return values_[index]; }
  /// Derived tensor that op `index` produces, packed in the input's layout.
  const Tensor& output_of(std::size_t index) const { return values_[index + 1]; }

  /// The convolution if the first op is one (it can stand nowhere else), or nullptr.
  const ConvOp* conv() const;
  /// Index of the op that needs sums over the whole batch before it can give anything (there is one
  /// at most), or -1.
  int batch_op() const;
  /// The statistics if the last op is that (it can stand nowhere else), or nullptr.
  const StatisticsOp* statistics() const;

  bool operator==(const Problem& other) const {
    return values_ == other.values_ && ops_ == other.ops_ && output_ == other.output_;
  }

 private:
  std::vector<Op> ops_;
  std::vector<Tensor> values_;
  Tensor output_;
};

/// One line that reads back to an equal Problem:
///   f32:1x64x56x56:nchw;conv(f32:64x64x3x3:nchw,pad=1x1,stride=1x1,dilation=1x1,groups=1);
///   bias(f32:1x64x1x1:nchw);activation(relu)->f32:1x64x56x56:nchw
/// Optional in conv: pad_hi=2x2, strict, deterministic. Any op: alpha, beta (Blend).
std::string to_text(const Problem& problem);
/// Throws Error(InvalidValue) that names the piece of text it could not read, or what the
/// constructor throws for a text that says something impossible.
Problem parse_problem(std::string_view text);

}  // namespace fuseplan
