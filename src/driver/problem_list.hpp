// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "driver/problem.hpp"

namespace fuseplan::driver {

/// How the rows of a list, which give shapes alone, become plans.
struct ListOptions {
  std::string chain;       ///< ops behind the shape; empty: what the list's kind usually has
  std::int64_t batch = 0;  ///< 0: the list's own
  fuseplanDataType_t type = fuseplanFloat;
  bool channels_last = false;
};

/// Ops such as "bias;norm;activation(relu);add", with tensors made to fit the value they follow:
/// norm is spatial unless written norm(per_activation). "activation_backward(relu);norm_backward"
/// is a backward pass over the shape.
void append_chain(ProblemSpec& problem, const std::string& chain, bool channels_last);

/// A CSV file of problems/: convolutions get bias, batchnorm and RELU behind them (a scale instead
/// of the first two for integers, which are requantised to the input's type), normalisations are
/// batchnorm and RELU. Throws std::runtime_error naming file and line.
std::vector<ProblemSpec> read_list(const std::string& file, const ListOptions& options);

}  // namespace fuseplan::driver
