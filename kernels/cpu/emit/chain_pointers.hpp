// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

/// A kernel's addresses of all that its chain reads and stores: in registers as far as there are
/// any for them, then in words of the stack. rax is scratch.
class ChainPointers {
 public:
  /// Reserves stack words if `registers` are too few.
  ChainPointers(VectorCode& code, const FinishSpec& spec, std::span<const Xbyak::Reg64> registers);

  /// From the RowsCall that `call` points to; it may be none of the registers, nor rax.
  void read(const Xbyak::Reg64& call);
  /// To another tile.
  void move(const TilePlace& by);
  /// The same in the RowsCall itself, for those who read it again.
  void move_call(const Xbyak::Reg64& call, const TilePlace& by) const;

  // A line that is far away costs a trip to the memory or cache that has it; a tile's sums take as
  // long. Each line that these vectors of the tile begin in is asked for once.
  void expect_output(std::span<const TilePlace> vectors);
  void expect_elements(std::span<const TilePlace> vectors);

  /// Loads the call's Drain, of a spec that drains.
  void read_drain(const Xbyak::Reg64& to);

  // Memory of one element or more. If its pointer waits on the stack, rax holds it until the next
  // one is asked for.
  Near output(const TilePlace& place);
  Xbyak::Address element(int index, const TilePlace& place);
  Xbyak::Address channel(int root, const TilePlace& place);
  Xbyak::Address uniform(int root);
  /// Bytes from one place to another in the tensor whose pointer the register is; 0 if it is none.
  std::int64_t step(int reg, const TilePlace& from, const TilePlace& to) const;
  /// Whether the element's pointer is in a register.
  bool is_at_hand(int element) const;

 private:
  enum class Of : std::uint8_t { output, channels, element, uniforms };
  struct Pointer {
    Of of{};
    int index = 0;  ///< of the element
    std::optional<Xbyak::Reg64> reg{};
    int word = 0;
  };
  const Pointer& find(Of of, int index = 0) const;
  Near at(const Pointer& pointer, std::int64_t bytes);
  std::int64_t bytes(const Pointer& pointer, const TilePlace& by) const;

  VectorCode& code_;
  const FinishSpec& spec_;
  std::vector<Pointer> pointers_;
  int drain_word_ = 0;
};

}  // namespace fuseplan::cpu
