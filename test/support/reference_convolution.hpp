// SPDX-License-Identifier: MIT
#pragma once

#include "support/reference.hpp"

namespace fuseplan::test {

/// The sum of the definition, with the bound that accumulating it in f32 in any order keeps; sums
/// of integers are rounded to f32 once and without any other error.
ReferenceResult convolve(const HostTensor& input, const Convolution& conv);

}  // namespace fuseplan::test
