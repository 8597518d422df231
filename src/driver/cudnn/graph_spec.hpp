// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "driver/cudnn/backend_values.hpp"
#include "driver/problem.hpp"

namespace fuseplan::driver {

/// What a tensor of a graph is bound to.
enum class GraphRole { inside, input, output, weights, scale, shift, other };

struct GraphTensor {
  GraphRole role = GraphRole::inside;
  TensorSpec spec;
  std::size_t source = 0;  ///< weights, other: the op; scale, shift: number in GraphSpec::affines
};

/// y = mode(x), mode(x, b), or the convolution of x and b. Tensors by their index.
struct GraphNode {
  const OpSpec* conv = nullptr;  ///< nullptr: pointwise
  CudnnPointwise mode = CudnnPointwise::identity;
  std::size_t x = 0, y = 0;
  std::optional<std::size_t> b;
  std::vector<std::pair<CudnnAttribute, double>> parameters;  ///< of the mode
};

/// Consecutive bias, batchnorm and scale-and-shift ops: one factor and one term a channel.
struct ChannelAffine {
  std::vector<std::size_t> ops;
};

/// A chain of ops as a graph of cuDNN's: the convolution, then at most one MUL and one ADD a run of
/// per-channel ops, with factors computed beforehand as the users of cuDNN do, then the activation.
/// Between its nodes values are f32.
struct GraphSpec {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  std::vector<ChannelAffine> affines;
};

struct GraphForm {
  /// A per-channel run directly behind the convolution keeps its term only: the factor is in the
  /// weights.
  bool folded = false;
  std::size_t first = 0;  ///< op that the graph begins with
  std::size_t end = ~std::size_t{0};
  /// Type of factors and terms. A convolution with a term alone takes it in the data's type always:
  /// cuDNN's precompiled engines do, and those are the fast ones.
  fuseplanDataType_t parameters = fuseplanFloat;
};

/// The ops from form.first to form.end. Throws std::invalid_argument with a sentence for what cuDNN
/// has no node for. Points into the problem. An added tensor comes multiplied by its factor: cuDNN
/// 9.19 has no engine for an ADD with one.
GraphSpec graph_of(const ProblemSpec& problem, const GraphForm& form = {});

}  // namespace fuseplan::driver
