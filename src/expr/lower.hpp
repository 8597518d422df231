// SPDX-License-Identifier: MIT
#pragma once

#include "expr/chain.hpp"

namespace fuseplan {

/// Whether parameters of that form hold one value per channel of `input`; else per element.
bool is_per_channel(const Tensor& params, const Tensor& input);

/// The tensor of values that a launch computes for parameters of that form: f32, packed, in
/// `input`'s order of axes.
Tensor statistics_of(const Tensor& params, const Tensor& input);

}  // namespace fuseplan
