// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan::cpu {

/// output[i] = {even[i * stride], odd[i * stride]}, i < count, the first in the lower half; without
/// `odd` its place is zero. What instructions for bf16 multiply. Needs AVX-512 on x86.
void pair_halves(const std::uint16_t* even, const std::uint16_t* odd, std::int64_t stride,
                 std::uint32_t* output, std::int64_t count);

}  // namespace fuseplan::cpu
