// SPDX-License-Identifier: MIT
#pragma once

#include "miopen/shape.hpp"

namespace fuseplan::miopen {

struct Pooling {
  miopenPoolingMode_t mode = miopenPoolingMax;
  int window[2] = {1, 1}, pad[2] = {0, 0}, stride[2] = {1, 1};

  std::vector<std::size_t> output_lens(const Shape& x) const;
};

}  // namespace fuseplan::miopen
