// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "kernels/cpu/grouped/plan.hpp"

namespace fuseplan::cpu {

/// Weights in the order in which the kernels read them; the layout stands in GroupedShape.
std::size_t packed_group_weight_bytes(const GroupedShape& shape);
std::string packed_group_weight_format(const GroupedShape& shape);
void pack_group_weights(const GroupedShape& shape, const void* raw, void* packed);

}  // namespace fuseplan::cpu
