// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "base/dtype.hpp"
#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

/// Moves vectors of lanes between memory and f32 registers. Whole vectors, or the first `count`
/// lanes of one: then nothing outside them is read or written, and the other lanes read as zero.
/// Rounds to nearest even and keeps NaN, as base/half.hpp does; 8-bit integers saturate, as in
/// base/saturate.hpp. i32 can be loaded only.
class Storage {
 public:
  /// Moves so many bytes, a multiple of a cache line, from `from` past the caches to `to`.
  void stream(const Xbyak::Reg64& to, const Xbyak::Reg64& from, std::int64_t bytes);
  /// Registers that may be clobbered between transfers.
  const auto& scratch() const { return scratch_; }

  /// Whether storing such elements takes constants.
  static bool brings_constants(DType dtype) { return dtype == DType::bf16 || is_byte(dtype); }

  /// Registers that partial transfers may clobber on AVX2, and those of strided lanes on both sets,
  /// besides the flags. Other than that of begin_partial's count, where it is not known.
  struct Scratch {
    Xbyak::Reg64 address, value, index;
  };
  /// `bf16`: Extensions::bf16.
  Storage(VectorCode& code, const Scratch& scratch, bool bf16 = false)
      : code_(code), scratch_(scratch), bf16_(bf16) {}

  /// `from`: memory, or the lower part of a register.
  void load(const Vec& d, const Xbyak::Operand& from, DType dtype);
  void load(int d, Near from, DType dtype);
  void store(const Xbyak::Address& to, const Vec& v, DType dtype, bool streaming = false);
  /// `waiting` = v as it waits for store_joined; on AVX-512.
  void wait_to_join(const Vec& waiting, const Vec& v, DType dtype);
  /// Stores the elements of what waits and, behind them, v's by one instruction: two vectors of
  /// 16 bits, two or four of 8. Registers of those that wait are clobbered.
  void store_joined(const Xbyak::Address& to, std::span<const Vec> waiting, const Vec& v,
                    DType dtype, bool streaming);
  /// Memory at `at` as wide as one element.
  Xbyak::Address element(const Xbyak::RegExp& at, DType dtype);
  /// d = the one element at `from`, as element() gives it, in every lane.
  void broadcast(const Vec& d, const Xbyak::Address& from, DType dtype);

  /// Starts a partial vector of `count` lanes (fewer than a whole vector, at least one), which
  /// stays in that register until the next. `known`: how many those are, or 0: AVX2's masked stores
  /// take a dozen cycles on AMD's cores, two or three of the lanes' parts as many, and narrow types
  /// have no masks there.
  void begin_partial(const Xbyak::Reg64& count, int known = 0);
  void load_partial(const Vec& d, const Xbyak::Address& from, DType dtype);
  void store_partial(const Xbyak::Address& to, const Vec& v, DType dtype);
  /// AVX2, 16 and 8 bits: d = the `count` (fewer than 8) elements at `from` in its lanes from
  /// `first` on, the others zero.
  void load_narrow_lanes(const Vec& d, int first, const Xbyak::Address& from, int count,
                         DType dtype);
  /// load() and load_partial() of lanes that lie `stride` bytes apart, an element at a time.
  void load_strided(const Vec& d, const Xbyak::Address& from, std::int64_t stride, DType dtype);
  void load_partial_strided(const Vec& d, const Xbyak::Address& from, std::int64_t stride,
                            DType dtype);

  /// d = its first `count` lanes, and then those of `rest`.
  void replace_rest(const Vec& d, const Vec& rest);

  /// The table that partial vectors on AVX2 need; after the code's last instruction.
  void emit_tables();

 private:
  /// Two whole vectors become 16-bit elements in the time that one takes.
  bool joins_whole(DType dtype) const { return bf16_ && dtype == DType::bf16; }
  Vec packed(const Vec& v, DType dtype);
  void to_bf16(const Vec& v);
  void to_whole(const Vec& v, DType dtype);
  void to_packable(const Vec& v, DType dtype);
  void store_joined_bytes(const Xbyak::Address& to, std::span<const Vec> waiting, const Vec& v,
                          DType dtype, bool streaming);
  Vec packed_bytes(const Vec& v, DType dtype);
  void store_bytes(const Xbyak::Address& to, const Vec& v, DType dtype);
  void store_lanes(const Xbyak::Address& to, const Vec& v, int count);
  void store_narrow_lanes(const Xbyak::Address& to, const Xbyak::Xmm& v, int bytes);
  void gather(const Vec& d, const Xbyak::Address& from, std::int64_t stride, DType dtype,
              int count);
  void gather_piece(const Xbyak::Xmm& piece, const Xbyak::RegExp& from, int stride, int size,
                    int count);
  void copy_elements(const Xbyak::Address& slot, const Xbyak::Address& memory, DType dtype,
                     bool to_memory);

  VectorCode& code_;
  Scratch scratch_;
  bool bf16_;
  Xbyak::Reg64 count_;
  int known_count_ = 0;  ///< 0: unknown
  int mask_slot_ = -1, half_slot_ = -1;
  Xbyak::Label mask_table_;
};

}  // namespace fuseplan::cpu
