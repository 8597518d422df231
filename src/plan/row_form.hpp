// SPDX-License-Identifier: MIT
#pragma once

#include "plan/problem.hpp"

namespace fuseplan {

/// The same convolution with its pixels along the last axis: images of one column, as sequences
/// often are (N x C x L x 1), become images of one row. The axis of length 1 moves to the front of
/// the spatial ones, in all tensors; memory is read and written as before. Kernels that want long
/// rows are up to 12 times as fast so. Any other problem is returned as it is.
Problem row_form(const Problem& problem);

}  // namespace fuseplan
