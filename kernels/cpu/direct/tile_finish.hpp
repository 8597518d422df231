// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {

/// How a tile kernel applies the chain to the sums it holds in registers. `rows` describes the same
/// work as a rows kernel would do it, on rows of whole vectors of output channels; each row is a
/// pixel. Steps from one pixel to the next, in bytes.
struct TileFinish {
  RowsSpec rows;
  std::int64_t output_step = 0;
  std::vector<std::int64_t> element_steps;  ///< by RowsSpec::elements index
};

/// Whether the chain is short enough to be repeated for every register of a tile, and all it reads
/// lies along the channels. The instruction set is AVX-512.
bool finishes_in_registers(const RowsSpec& rows);

/// Emits that work at the end of a tile kernel, for sums in registers 0, 1, ... in the order
/// [pixel][vector]. All other registers are free.
class SumsFinisher : public LeafSource {
 public:
  /// `call` points to the RowsCall, `spill` to room for all sums. rax, rcx and r8 to r11 are
  /// clobbered, so neither may be one of them.
  SumsFinisher(VectorCode& code, const TileFinish& finish, const Xbyak::Reg64& call,
               const Xbyak::Reg64& spill);
  void emit(int pixels, int vectors);

  std::optional<Source> find(const Node& leaf) override;
  void load(const Vec& d, const Node& leaf) override;

 private:
  /// A leaf that is the same for all pixels, in a register.
  struct Kept {
    Node leaf;
    Vec reg;
  };
  struct Stream {
    int index;
    Xbyak::Reg64 pointer;
  };
  int registers_of_body() const;
  void keep();
  int take_registers(int pixels, int vectors);
  void read_streams();
  void fill_kept(int vector);
  void finish_sum(int pixel, int vector);
  Xbyak::Address at(const Xbyak::Reg64& pointer, std::int64_t step, DType dtype) const;
  Xbyak::Address output() const;
  std::pair<Xbyak::Address, DType> stream(const Node& leaf) const;

  VectorCode& code_;
  const TileFinish& finish_;
  Xbyak::Reg64 call_, spill_;
  Storage storage_;
  std::vector<Kept> kept_;
  std::vector<Stream> streams_;
  Source sum_;
  int pixel_ = 0, vector_ = 0;
};

}  // namespace fuseplan::cpu
