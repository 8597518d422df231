// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "kernels/gpu/recipe.hpp"

namespace fuseplan::cuda {

/// Whether the driver can encode tensor maps, as those from 12.0 on can.
bool has_tensor_maps();

/// Encodes a call's maps into its arguments. Allocates nothing.
void encode_tensor_maps(const gpu::Call& call);

}  // namespace fuseplan::cuda
