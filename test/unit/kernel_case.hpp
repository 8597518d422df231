// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "expr/passes.hpp"
#include "kernels/cpu/program.hpp"
#include "support/reference.hpp"
#include "support/shapes.hpp"

namespace fuseplan::test {

/// A Problem with random data for everything it reads, and the reference's answer.
class KernelCase {
 public:
  KernelCase(Problem problem, Random& random, const PassOptions& passes = {});

  const Problem& problem() const { return problem_; }
  const SplitChain& chain() const { return chain_; }

  /// Emits, loads, prepares and runs the recipe's kernel over fresh canaries.
  HostTensor run(const cpu::Recipe& recipe, int threads = 1) const;
  ::testing::AssertionResult check(const HostTensor& output) const;

  void set_input(const Dims& index, double value);
  void set_weight(const Dims& index, double value);

 private:
  using Key = std::pair<int, Role>;
  void fill_op(int index, Random& random);
  void add_tensor(Key key, const Tensor& tensor, Random& random, double low, double high);
  void add_scalar(Key key, double value);
  Step step_of(int index) const;
  void compute_expected();
  double scalar(int op, Role role) const { return scalars_.at({op, role}); }
  const HostTensor* tensor(int op, Role role) const { return &tensors_.at({op, role}); }

  Problem problem_;
  SplitChain chain_;
  HostTensor input_, previous_;
  std::map<Key, HostTensor> tensors_;
  std::map<Key, double> scalars_;
  ReferenceResult expected_;
};

/// How the tensors of a test lie in memory.
enum class Strides { channels_first, channels_last, padded, permuted };
const char* name_of(Strides strides);
Tensor make_tensor(DType dtype, const fuseplan::Dims& lens, Strides strides, Random& random);

/// What follows the convolution; every op, blending, broadcasts, parameters of other types.
enum class Tail { none, bias_norm_relu, residual, add_gelu, gelu_add_mish, everything, requantise };
std::vector<Op> tail_ops(Tail tail, const fuseplan::Dims& lens, DType dtype, Strides strides,
                         Random& random);

struct ConvCase {
  fuseplan::Dims input, filter;  ///< filter: K, C/groups, taps
  Conv conv;
};
ConvCase conv_case(const ConvProblem& row);
struct TypesAndStrides {
  DType input, output;
  Strides strides;
};
Problem conv_problem(const ConvCase& shape, TypesAndStrides types, Tail tail, Random& random);

}  // namespace fuseplan::test
