// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "expr/chain.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/int8/tile_spec.hpp"

namespace fuseplan::cpu {

/// Whether a tile kernel can apply the chain to its sums while they are in registers: channels in
/// lanes, and a chain short enough to be written out for every one of them.
bool can_finish_bytes(const DirectShape& shape, const SplitChain& chain, Isa isa);

/// What emitting the chain into a tile kernel takes besides the tile.
struct ByteFinishSpec {
  Expr body;
  DType output{};
  std::vector<DType> elements;  ///< by SplitChain::elements index
};

/// The chain's body without what storing to `output` does anyway: a last maximum with 0 where
/// nothing below 0 can be stored.
Expr finishing_body(const Expr& body, DType output);

/// Code that applies the chain to `sums`, registers of i32 by pixel and vector, and stores the
/// results. The call is in rdi; all other general registers but rsp and rbp may be written. The
/// sums' registers go back to the pool as they are stored.
void emit_byte_finish(VectorCode& code, const ByteTileSpec& tile, const ByteFinishSpec& spec,
                      std::span<const Vec> sums);

}  // namespace fuseplan::cpu
