// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "base/dtype.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {

/// How a tile of sums becomes output: rows of lanes, as for a rows kernel, but the sums are in
/// registers and all steps are known when the code is made. Steps in bytes.
struct FinishSpec {
  Expr body;  ///< SplitChain::body
  DType output = DType::f32;
  std::int64_t output_row = 0;  ///< from row to row
  bool lanes_are_channels = false;
  std::int64_t channel_root = 0;  ///< from one root's channel values to the next root's
  struct Element {
    DType dtype{};
    bool per_lane = true;  ///< contiguous along lanes; otherwise one value per row
    std::int64_t row = 0;  ///< from row to row
  };
  std::vector<Element> elements;  ///< by SplitChain::elements index
};

/// Registers with the addresses of the tile's first row and lane.
struct FinishPointers {
  Xbyak::Reg64 output, channels, uniforms;
  std::span<const Xbyak::Reg64> elements;
};

/// Whether a chain is short enough to be unrolled over all vectors of a tile.
bool finishes_in_registers(const Expr& body);

/// Applies a chain to a tile of sums where they were summed, and stores it. Registers that the sums
/// leave over hold what changes least; if the chain needs more, some sums wait on the stack.
class TileFinisher : LeafSource {
 public:
  TileFinisher(VectorCode& code, const FinishSpec& spec, const FinishPointers& pointers,
               Storage& storage)
      : code_(code), spec_(spec), pointers_(pointers), storage_(storage) {}

  /// `sums`: registers of the pool, [row][vector]; they are given back. With `partial` the last
  /// vector of each row is one, as begun in the storage.
  void finish(std::span<const int> sums, int rows, int vectors, bool partial);

  std::optional<Source> find(const Node& leaf) override;
  void load(const Vec& d, const Node& leaf) override;

 private:
  struct Kept {
    Node leaf;
    int reg;
  };
  struct Need {
    std::size_t registers;
    std::vector<std::uint32_t> constants;
  };
  std::vector<Node> keepable() const;
  Need need(std::span<const Node> kept) const;
  void spill();
  void plan();
  void load_kept(Leaf leaf);
  void finish_one(int row, int vector);
  const Source& sum() const;
  Xbyak::Address at(const Xbyak::Reg64& base, std::int64_t row, DType dtype) const;
  Xbyak::Address channel(int root) const;
  void load_lanes(const Vec& d, const Xbyak::Address& from, DType dtype);

  VectorCode& code_;
  const FinishSpec& spec_;
  FinishPointers pointers_;
  Storage& storage_;
  std::vector<Source> sums_;  ///< in registers, or spilled
  std::vector<Kept> kept_;
  int rows_ = 0, vectors_ = 0;
  bool partial_tile_ = false;
  int row_ = 0, vector_ = 0;  ///< being computed
  bool partial_ = false;
};

}  // namespace fuseplan::cpu
