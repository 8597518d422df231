// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/grouped/plan.hpp"

namespace fuseplan::cpu {

/// Applies a chain to sums that wait in registers, and stores them. Walks along the output and the
/// element tensors as its kernel does: blocks of channels, tiles of rows, tiles of columns.
class TileChain : public LeafSource {
 public:
  TileChain(VectorCode& code, const GroupedPlan& plan);

  /// A vector of the tile: output channel of the block, row, and first column.
  struct Place {
    int output = 0, row = 0, column = 0;
  };

  /// Vector registers that the chain needs while it runs, besides the sums.
  static int registers(const GroupedPlan& plan);

  void reserve();        ///< stack words
  void keep(int spare);  ///< registers of the pool beyond `spare` keep values ready
  void start();          ///< reads the call
  void start_block(bool partial);
  void next_block();
  /// To another tile. Negative numbers lead back.
  void move(std::int64_t rows, std::int64_t columns);
  void finish(const Vec& sum, Place place, bool partial);
  Storage& storage() { return storage_; }
  /// Counts the lanes of partial vectors.
  static Xbyak::Reg64 count() { return Xbyak::util::r15; }

  std::optional<Source> find(const Node& leaf) override;
  void load(const Vec& d, const Node& leaf) override;

 private:
  struct Stream {
    DType dtype;
    const View* view;
    bool per_lane;
    std::optional<Xbyak::Reg64> reg{};  ///< of the pointer; otherwise it stays on the stack
    int word = 0;                       ///< pointer at the block, and at the tile
    std::int64_t bytes(int axis) const {
      return view->stride[static_cast<std::size_t>(axis)] *
             static_cast<std::int64_t>(size_of(dtype));
    }
  };
  /// A leaf that does not change within a block.
  struct Kept {
    Node leaf;
    int output = 0;
    std::optional<Vec> reg{};
    int slot = -1;
  };

  void list_kept();
  void fill(const Kept& kept, bool partial);
  void broadcast(const Vec& d, const Stream& stream);
  Xbyak::Address address(const Stream& stream);
  const Stream& stream_of(const Node& leaf) const;

  VectorCode& code_;
  const GroupedPlan& plan_;
  Storage storage_;
  std::vector<Stream> streams_;  ///< the output, then the elements
  std::vector<Kept> kept_;
  int channels_word_ = 0;
  Place place_;
  Vec sum_;
  bool partial_ = false;
};

}  // namespace fuseplan::cpu
