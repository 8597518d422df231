// SPDX-License-Identifier: MIT
#pragma once

#include "plan/tensor.hpp"

namespace fuseplan {

/// Whether two elements of the tensor share memory. True as well where telling would take more than
/// about a million steps, which no nesting or interleaving of axes comes near.
bool may_overlap(const Tensor& tensor);

/// Whether an element of `a` shares memory with one of `b`, whose first element lies `distance`
/// bytes behind that of `a`. Slices of one buffer, such as some of the channels of each pixel, do
/// not. True as well where telling would take long, by the standards of an execution.
bool may_overlap(const Tensor& a, const Tensor& b, std::int64_t distance);

}  // namespace fuseplan
