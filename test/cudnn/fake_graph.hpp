// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "fake_object.hpp"

namespace fuseplan::fake_cudnn {

/// Why a graph is none: shapes that do not fit, a value that is read before it is written, a tensor
/// of two numbers. Empty if it is one.
std::string fault_of(const Object& graph);

/// Whether cuDNN would have engines. Version 9.19 was seen to have them in NCHW for a convolution
/// alone, with a term of the data's type, and with RELU behind that.
bool has_engines(const Object& graph);

/// To the nearest, as tensor cores read f32.
float rounded_to_tf32(float value);

/// Computes it over host memory, sums and pointwise values in f32 as engines do; `tf32`: products
/// of values rounded to it.
void run_graph(const Object& graph, const std::map<std::int64_t, void*>& pointers, bool tf32);

}  // namespace fuseplan::fake_cudnn
