// SPDX-License-Identifier: MIT
// Lanes that do not follow one another in memory, as those of an NCHW tensor's channels.
#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kPieceBytes = 16;  ///< which single elements can be inserted in

}  // namespace

/// The first `count` elements of 16 bytes, the others zero.
void Storage::gather_piece(const Xbyak::Xmm& piece, const Xbyak::RegExp& from, int stride, int size,
                           int count) {
  VectorCode& c = code_;
  size == 4 ? c.vmovd(piece, c.ptr[from]) : c.clear(piece.getIdx());
  for (int i = size == 4 ? 1 : 0; i < count; ++i) {
    const Xbyak::Address at = c.ptr[from + i * stride];
    if (size == 1)
      c.vpinsrb(piece, piece, at, i);
    else if (size == 2)
      c.vpinsrw(piece, piece, at, i);
    else
      c.vpinsrd(piece, piece, at, i);
  }
}

/// Inserting clears what lies above 16 bytes: all pieces but the first wait on the stack.
void Storage::gather(const Vec& d, const Xbyak::Address& from, std::int64_t stride, DType dtype,
                     int count) {
  VectorCode& c = code_;
  const int size = static_cast<int>(size_of(dtype)), step = static_cast<int>(stride);
  const int in_piece = kPieceBytes / size, pieces = ceil_div(count, in_piece);
  const Xbyak::Xmm low(d.getIdx());
  const int slot = pieces > 1 ? c.take_slot() : -1;
  const auto waiting = [&](int piece) -> Xbyak::Address {
    Near at = c.slot(slot);
    at.displacement += piece * kPieceBytes;
    return at;
  };
  for (int piece = pieces - 1; piece >= 0; --piece) {
    const int first = piece * in_piece;
    gather_piece(low, from.getRegExp() + first * step, step, size,
                 std::min(in_piece, count - first));
    if (piece > 0) c.vmovups(waiting(piece), low);
  }
  for (int piece = 1; piece < pieces; ++piece) {
    if (!c.is_avx512())
      c.vinsertf128(Xbyak::Ymm(d.getIdx()), Xbyak::Ymm(d.getIdx()), waiting(piece), 1);
    else
      c.vinsertf32x4(Xbyak::Zmm(d.getIdx()), Xbyak::Zmm(d.getIdx()), waiting(piece),
                     static_cast<std::uint8_t>(piece));
  }
  if (slot >= 0) c.give_slot(slot);
  if (size == 4) {
    if (dtype == DType::i32) load(d, d, dtype);
  } else if (size * c.lanes() > kPieceBytes) {
    load(d, Xbyak::Ymm(d.getIdx()), dtype);
  } else {
    load(d, low, dtype);
  }
}

void Storage::load_strided(const Vec& d, const Xbyak::Address& from, std::int64_t stride,
                           DType dtype) {
  gather(d, from, stride, dtype, code_.lanes());
}

void Storage::load_partial_strided(const Vec& d, const Xbyak::Address& from, std::int64_t stride,
                                   DType dtype) {
  if (known_count_ > 0) return gather(d, from, stride, dtype, known_count_);
  Xbyak::Label next;
  const auto& [address, value, index] = scratch_;
  const int slot = code_.take_slot(), size = static_cast<int>(size_of(dtype));
  const Xbyak::Address lanes = code_.slot(slot);
  code_.lea(address, from);
  code_.clear(d.getIdx());
  code_.vmovups(code_.slot(slot), d);
  code_.xor_(index.cvt32(), index.cvt32());
  code_.L(next);
  size == 4 ? code_.mov(value.cvt32(), code_.ptr[address])
            : code_.movzx(value.cvt32(), element(address, dtype));
  const Xbyak::RegExp lane = lanes.getRegExp() + index * size;
  if (size == 1)
    code_.mov(code_.ptr[lane], value.cvt8());
  else if (size == 2)
    code_.mov(code_.ptr[lane], value.cvt16());
  else
    code_.mov(code_.ptr[lane], value.cvt32());
  code_.add(address, static_cast<int>(stride));
  code_.inc(index);
  code_.cmp(index, count_);
  code_.jb(next);
  load(d, lanes, dtype);
  code_.give_slot(slot);
}

}  // namespace fuseplan::cpu
