// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {

/// The leaves of a rows kernel: memory streams that advance from row to row, and values that are
/// constant along a row and kept ready in registers or, when those are taken, on the stack.
class RowsLeaves : public LeafSource {
 public:
  RowsLeaves(VectorCode& code, const RowsSpec& spec);

  // Registers of the kernel; rax, rdx and rdi are scratch once start() is done.
  static Xbyak::Reg64 call() { return Xbyak::util::rdi; }
  static Xbyak::Reg64 lane() { return Xbyak::util::rcx; }
  static Xbyak::Reg64 count() { return Xbyak::util::rsi; }

  enum class Rows { one, many };
  void start(Rows rows);  ///< reads the call; for one row without the steps between rows
  void start_row();       ///< readies what is constant along the row
  void next_row();        ///< advances the streams
  void rewind();          ///< sets the streams to the call's first row; call() is the call again
  /// In a partial vector: the lanes behind it get what is constant along the next row.
  void blend_next_row();

  /// Vector `number` behind the current lane is computed next; `partial`: its first count() lanes.
  void select(int number, bool partial);
  Xbyak::Address output() { return address(output_); }
  Xbyak::Reg64 output_pointer() { return *streams_[output_].reg; }
  Storage& storage() { return storage_; }
  /// Bytes from a place to the same one of the next vector beside it; 0 if all have it in common.
  int step(const Near& at) const;

  std::optional<Source> find(const Node& leaf) override;
  void load(const Vec& d, const Node& leaf) override;

 private:
  struct Stream {
    Leaf leaf{};
    int index = 0;
    DType dtype = DType::f32;
    bool per_lane = true;
    std::int64_t lane_stride = 0;        ///< bytes, where lanes are not contiguous
    std::optional<Xbyak::Reg64> reg{};   ///< of the pointer; otherwise it stays on the stack
    int words = 0;                       ///< on the stack: pointer, step
    std::optional<Xbyak::Address> at{};  ///< of the current vector, once it was asked for
  };
  /// A leaf that does not change along a row.
  struct Kept {
    Node leaf;
    std::optional<Vec> reg{};
    int slot = -1;
  };

  void plan_streams();
  void plan_kept();
  void read_pointer(const Stream& stream);
  void read_step(const Stream& stream);
  void fill(const Kept& kept);
  static bool is_along_row(const Kept& kept) {
    return kept.leaf.leaf == Leaf::channel || kept.leaf.leaf == Leaf::element;
  }
  std::size_t stream_of(Leaf leaf, int index) const;
  Xbyak::Reg64 pointer(const Stream& stream);
  Xbyak::Address address(std::size_t stream);
  Xbyak::Address strided_address(const Stream& stream);

  VectorCode& code_;
  const RowsSpec& spec_;
  Storage storage_;
  std::vector<Stream> streams_;
  std::vector<Kept> kept_;
  std::size_t output_ = 0;
  int number_ = 0;
  bool partial_ = false;
};

}  // namespace fuseplan::cpu
