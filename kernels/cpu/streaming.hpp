// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/cpu/chain_tensors.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// More than a second-level cache of 2 MB keeps.
inline constexpr std::int64_t kFarBytes = 3 << 20;

// Stores past the caches fetch no line only to overwrite it, and leave the caches to the input.
// Code is the same for all cores of an instruction set; which of it runs is not.

/// Rows of lanes start and end with lines, if the tensor does.
bool is_made_of_lines(const ChainTensors& tensors);

/// A convolution's recipe with code of both kinds, made by `make(streaming)`, whose functions must
/// be as many either way and whose weights must be prepared alike; or only make(false), where the
/// output is small, or not made of whole cache lines, or is not stored line by line. Kernels store
/// runs of `lanes` elements at once, or with a few other lines between their parts, from a multiple
/// of as many on. A launch streams if this host gains by it.
std::shared_ptr<const Recipe> with_streaming(
    const ChainTensors& tensors, const SplitChain& chain, std::int64_t lanes,
    const std::function<std::shared_ptr<const Recipe>(bool streaming)>& make);

/// The same for output whose rows begin anywhere in a line, but of which kernels store contiguous
/// regions of many lines, one after another, wherever it starts. `touched`: bytes that a layer
/// reads and stores which gains only where the third-level cache cannot hold them; 0 for others.
std::shared_ptr<const Recipe> with_streamed_regions(
    const ChainTensors& tensors, const SplitChain& chain, std::int64_t touched,
    const std::function<std::shared_ptr<const Recipe>(bool streaming)>& make);

/// Before a thread says that it has done its part: orders its stores past the caches before those
/// that say so.
void fence_streams();

}  // namespace fuseplan::cpu
