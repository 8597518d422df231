// SPDX-License-Identifier: MIT
#pragma once

namespace fuseplan {

/// Kinds of convolution, with MIOpen's numbers (fuseplanConvFwdAlgorithm_t).
enum class Algorithm { none = -1, gemm = 0, direct = 1, fft = 2, winograd = 3, implicit_gemm = 5 };

/// "winograd"; nullptr if the number is none of them.
const char* name_of(Algorithm algorithm);

}  // namespace fuseplan
