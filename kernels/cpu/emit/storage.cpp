// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {

namespace {

const Xbyak::Opmask kTail(1);
constexpr int kNearestEven = 0;

}  // namespace

void Storage::stream(const Xbyak::Reg64& to, const Xbyak::Reg64& from, std::int64_t bytes) {
  const Temp line(code_);
  for (std::int64_t at = 0; at < bytes; at += code_.bytes()) {
    code_.vmovups(line, Xbyak::util::ptr[from + static_cast<int>(at)]);
    code_.vmovntps(Xbyak::util::ptr[to + static_cast<int>(at)], line);
  }
}

void Storage::load(const Vec& d, const Xbyak::Operand& from, DType dtype) {
  const Vec whole = code_.vec(d.getIdx());  // without d's mask
  switch (dtype) {
    case DType::f32:
      return code_.vmovups(d, from);
    case DType::f16:
      return code_.vcvtph2ps(d, from);
    case DType::i32:
      return code_.vcvtdq2ps(d, from);
    case DType::i8:
      code_.vpmovsxbd(d, from);
      return code_.vcvtdq2ps(whole, whole);
    case DType::u8:
      code_.vpmovzxbd(d, from);
      return code_.vcvtdq2ps(whole, whole);
    default: {
      code_.vpmovzxwd(d, from);
      return code_.vpslld(whole, whole, 16);
    }
  }
}

void Storage::load(int d, Near from, DType dtype) {
  if (dtype == DType::f32) return code_.vmovups(d, from);
  load(code_.vec(d), Xbyak::Address(from), dtype);
}

Xbyak::Address Storage::element(const Xbyak::RegExp& at, DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return code_.byte[at];
    case 2:
      return code_.word[at];
    default:
      return code_.ptr[at];
  }
}

void Storage::broadcast(const Vec& d, const Xbyak::Address& from, DType dtype) {
  if (dtype == DType::f32) return code_.vbroadcastss(d, from);
  const Xbyak::Xmm low(d.getIdx());
  const Xbyak::Reg32 value = scratch_.value.cvt32();
  dtype == DType::i8 ? code_.movsx(value, from) : code_.movzx(value, from);
  if (dtype == DType::bf16) code_.shl(value, 16);
  code_.vmovd(low, value);
  if (dtype == DType::f16) code_.vcvtph2ps(low, low);
  if (is_byte(dtype)) code_.vcvtdq2ps(low, low);
  code_.vbroadcastss(d, low);
}

void Storage::to_bf16(const Vec& v) {
  Temp rounded(code_), quiet(code_);
  code_.vpsrld(rounded, v, 16);
  code_.load_bits(quiet, 1);
  code_.vandps(rounded, rounded, quiet);
  code_.load_bits(quiet, 0x7fff);
  code_.vpaddd(rounded, rounded, quiet);
  code_.vpaddd(rounded, rounded, v);
  code_.vorps(quiet, v, code_.bits(0x400000u));
  Mask nan(code_);
  nan.compare(v, v, Compare::unord);
  nan.blend(rounded, Vec(quiet));
  code_.vpsrld(v, rounded, 16);
}

/// The lower half of `v`, made of its lanes as 16-bit elements.
Vec Storage::packed(const Vec& v, DType dtype) {
  const Vec half = code_.half(v);
  if (dtype == DType::f16) {
    code_.vcvtps2ph(half, v, kNearestEven);
    return half;
  }
  if (bf16_) {
    code_.vcvtneps2bf16(half, v);
    return half;
  }
  to_bf16(v);
  if (code_.is_avx512()) {
    code_.vpmovdw(half, v);
  } else {
    code_.vpackusdw(v, v, v);
    code_.vpermq(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), 0x08);
  }
  return half;
}

/// v as integers that saturate where the type ends. A conversion that overflows, and that of NaN,
/// gives the lowest integer of 32 bits: on AVX-512 the narrowing that follows makes the best of it.
void Storage::to_whole(const Vec& v, DType dtype) {
  const bool is_signed = dtype == DType::i8;
  const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
  const bool narrowing_saturates = code_.is_avx512();
  // Both instructions return their second operand for NaN.
  if (!is_signed || !narrowing_saturates) code_.vmaxps(v, v, code_.constant(low));
  if (is_signed || !narrowing_saturates) {
    Temp bound(code_);
    code_.load(bound, high);
    code_.vminps(v, bound, v);
  }
  code_.vcvtps2dq(v, v);
}

/// The lowest bytes of `v`'s register, made of its lanes; for AVX2.
Vec Storage::packed_bytes(const Vec& v, DType dtype) {
  const Xbyak::Ymm whole(v.getIdx());
  const Xbyak::Xmm low(v.getIdx());
  to_whole(v, dtype);
  code_.vpackssdw(whole, whole, whole);
  code_.vpermq(whole, whole, 0x08);
  dtype == DType::i8 ? code_.vpacksswb(low, low, low) : code_.vpackuswb(low, low, low);
  return low;
}

void Storage::store_bytes(const Xbyak::Address& to, const Vec& v, DType dtype) {
  if (!code_.is_avx512()) return code_.vmovq(to, Xbyak::Xmm(packed_bytes(v, dtype).getIdx()));
  to_whole(v, dtype);
  dtype == DType::i8 ? code_.vpmovsdb(to, v) : code_.vpmovusdb(to, v);
}

void Storage::store(const Xbyak::Address& to, const Vec& v, DType dtype, bool streaming) {
  if (is_byte(dtype)) return store_bytes(to, v, dtype);
  if (dtype == DType::f32) return streaming ? code_.vmovntps(to, v) : code_.vmovups(to, v);
  const Vec half = packed(v, dtype);
  return streaming ? code_.vmovntps(to, half) : code_.vmovups(to, half);
}

/// v as integers that become bytes by packssdw and then packuswb or packsswb, as they would by
/// to_whole's narrowing.
void Storage::to_packable(const Vec& v, DType dtype) {
  to_whole(v, dtype);
  if (dtype == DType::u8) code_.vpminud(v, v, code_.bits(255));
}

void Storage::wait_to_join(const Vec& waiting, const Vec& v, DType dtype) {
  if (is_byte(dtype)) to_packable(v, dtype);
  const bool whole = is_byte(dtype) || joins_whole(dtype);
  const Vec from = whole ? v : packed(v, dtype);
  const Vec to = whole ? waiting : code_.half(waiting);
  if (from.getIdx() != to.getIdx()) code_.vmovups(to, from);
}

/// Packing works within 16 bytes of each register: it leaves 4 bytes of each vector in turn.
void Storage::store_joined_bytes(const Xbyak::Address& to, std::span<const Vec> waiting,
                                 const Vec& v, DType dtype, bool streaming) {
  static constexpr VectorCode::Lanes kInOrder = {0, 4, 8,  12, 1, 5, 9,  13,
                                                 2, 6, 10, 14, 3, 7, 11, 15};
  to_packable(v, dtype);
  const Vec& low = waiting.front();
  const Vec& high = waiting.size() == 1 ? low : waiting[2];
  code_.vpackssdw(low, low, waiting.size() == 1 ? v : waiting[1]);
  if (waiting.size() > 1) code_.vpackssdw(high, high, v);
  dtype == DType::i8 ? code_.vpacksswb(low, low, high) : code_.vpackuswb(low, low, high);
  code_.load_lanes(v, kInOrder);
  const Xbyak::Zmm line(low.getIdx());
  code_.vpermd(line, Xbyak::Zmm(v.getIdx()), line);
  const Vec joined = waiting.size() == 1 ? code_.half(low) : low;
  streaming ? code_.vmovntps(to, joined) : code_.vmovups(to, joined);
}

void Storage::store_joined(const Xbyak::Address& to, std::span<const Vec> waiting, const Vec& v,
                           DType dtype, bool streaming) {
  if (is_byte(dtype)) return store_joined_bytes(to, waiting, v, dtype, streaming);
  const Xbyak::Zmm whole(waiting.front().getIdx());
  if (joins_whole(dtype))
    code_.vcvtne2ps2bf16(whole, v, whole);
  else
    code_.vinsertf64x4(whole, whole, Xbyak::Ymm(packed(v, dtype).getIdx()), 1);
  streaming ? code_.vmovntps(to, whole) : code_.vmovups(to, whole);
}

void Storage::begin_partial(const Xbyak::Reg64& count, int known) {
  count_ = count;
  known_count_ = known;
  if (code_.is_avx512()) {
    code_.mov(scratch_.value.cvt32(), -1);
    code_.bzhi(scratch_.value.cvt32(), scratch_.value.cvt32(), count.cvt32());
    return code_.kmovw(kTail, scratch_.value.cvt32());
  }
  if (mask_slot_ < 0) mask_slot_ = code_.take_slot();
  if (half_slot_ < 0) half_slot_ = code_.take_slot();
  Temp mask(code_);
  code_.lea(scratch_.address, code_.ptr[code_.rip + mask_table_]);
  code_.mov(scratch_.value, count);
  code_.neg(scratch_.value);
  code_.vmovups(mask, code_.ptr[scratch_.address + scratch_.value * 4 + 32]);
  code_.vmovups(code_.slot(mask_slot_), mask);
}

/// Copies `count` elements of 8 or 16 bits between a stack slot and memory, one at a time.
void Storage::copy_elements(const Xbyak::Address& slot, const Xbyak::Address& memory, DType dtype,
                            bool to_memory) {
  Xbyak::Label next;
  const auto& [address, value, index] = scratch_;
  const int size = static_cast<int>(size_of(dtype));
  code_.lea(address, memory);
  const auto in_slot = element(slot.getRegExp() + index * size - size, dtype);
  const auto in_memory = element(address + index * size - size, dtype);
  code_.mov(index, count_);
  code_.L(next);
  code_.movzx(value.cvt32(), to_memory ? in_slot : in_memory);
  if (size == 1) {
    code_.mov(to_memory ? in_memory : in_slot, value.cvt8());
  } else {
    code_.mov(to_memory ? in_memory : in_slot, value.cvt16());
  }
  code_.dec(index);
  code_.jnz(next);
}

void Storage::load_partial(const Vec& d, const Xbyak::Address& from, DType dtype) {
  if (code_.is_avx512()) return load(d | kTail | code_.T_z, from, dtype);
  if (size_of(dtype) == 4) {
    code_.vmovups(d, code_.slot(mask_slot_));
    code_.vmaskmovps(d, d, from);
    if (dtype == DType::i32) code_.vcvtdq2ps(d, d);
    return;
  }
  if (known_count_ > 0) return load_narrow_lanes(d, 0, from, known_count_, dtype);
  const Xbyak::Xmm low(d.getIdx());
  code_.vxorps(low, low, low);
  code_.vmovups(code_.slot(half_slot_), d);
  copy_elements(code_.slot(half_slot_), from, dtype, false);
  load(d, code_.slot(half_slot_), dtype);
}

// Narrow lanes come and go in pieces of eight, four, two and one byte, as far as they are wanted:
// so each lies at a multiple of its size.
void Storage::load_narrow_lanes(const Vec& d, int first, const Xbyak::Address& from, int count,
                                DType dtype) {
  VectorCode& c = code_;
  const Xbyak::Xmm low(d.getIdx());
  const auto at = [&](int byte) { return c.ptr[from.getRegExp() + byte]; };
  const int size = static_cast<int>(size_of(dtype)), bytes = count * size;
  int done = bytes & 8;
  if (done != 0) c.vmovq(low, at(0));
  if ((bytes & 4) != 0) {
    done == 0 ? c.vmovd(low, at(0)) : c.vpinsrd(low, low, at(done), done / 4);
    done += 4;
  }
  if (done == 0) c.vpxor(low, low, low);
  if ((bytes & 2) != 0) {
    c.vpinsrw(low, low, at(done), done / 2);
    done += 2;
  }
  if ((bytes & 1) != 0) c.vpinsrb(low, low, at(done), done);
  if (first != 0) c.vpslldq(low, low, first * size);
  load(d, low, dtype);
}

void Storage::store_narrow_lanes(const Xbyak::Address& to, const Xbyak::Xmm& v, int bytes) {
  VectorCode& c = code_;
  const auto at = [&](int byte) { return c.ptr[to.getRegExp() + byte]; };
  int done = bytes & 8;
  if (done != 0) c.vmovq(at(0), v);
  if ((bytes & 4) != 0) {
    done == 0 ? c.vmovd(at(0), v) : c.vpextrd(at(done), v, done / 4);
    done += 4;
  }
  if ((bytes & 2) != 0) {
    c.vpextrw(at(done), v, done / 2);
    done += 2;
  }
  if ((bytes & 1) != 0) c.vpextrb(at(done), v, done);
}

/// The first `count` of eight: four, two and one of them, as far as they are wanted.
void Storage::store_lanes(const Xbyak::Address& to, const Vec& v, int count) {
  const auto at = [&](int lane) { return code_.ptr[to.getRegExp() + 4 * lane]; };
  const int high = count & 4;
  Temp upper(code_);
  Xbyak::Xmm rest(v.getIdx());
  if (high != 0) {
    code_.vmovups(to, rest);
    rest = Xbyak::Xmm(upper.getIdx());
    if (count > high) code_.vextractf128(rest, Xbyak::Ymm(v.getIdx()), 1);
  }
  const int pair = count & 2;
  if (pair != 0) code_.vmovlps(at(high), rest);
  if ((count & 1) == 0) return;
  pair != 0 ? code_.vextractps(at(high + 2), rest, 2) : code_.vmovss(at(high), rest);
}

void Storage::store_partial(const Xbyak::Address& to, const Vec& v, DType dtype) {
  if (code_.is_avx512()) {
    if (is_byte(dtype)) return store_bytes(to | kTail, v, dtype);
    if (dtype == DType::f32) return code_.vmovups(to | kTail, v);
    const Vec half = packed(v, dtype);
    return code_.vmovdqu16(to | kTail, half);
  }
  if (dtype == DType::f32 && known_count_ > 0) return store_lanes(to, v, known_count_);
  if (dtype == DType::f32) {
    Temp mask(code_);
    code_.vmovups(mask, code_.slot(mask_slot_));
    return code_.vmaskmovps(to, mask, v);
  }
  const Vec narrow = is_byte(dtype) ? packed_bytes(v, dtype) : packed(v, dtype);
  if (known_count_ > 0)
    return store_narrow_lanes(to, Xbyak::Xmm(narrow.getIdx()),
                              known_count_ * static_cast<int>(size_of(dtype)));
  code_.vmovups(code_.slot(half_slot_), narrow);
  copy_elements(code_.slot(half_slot_), to, dtype, true);
}

void Storage::replace_rest(const Vec& d, const Vec& rest) {
  if (code_.is_avx512()) return code_.vblendmps(d | kTail, rest, d);
  Temp mask(code_);
  code_.vmovups(mask, code_.slot(mask_slot_));
  code_.vblendvps(d, rest, d, mask);
}

void Storage::emit_tables() {
  if (mask_slot_ < 0) return;
  code_.align(32);
  code_.L(mask_table_);  // counted from 32 bytes behind: `count` lanes set, the rest clear
  for (int i = 0; i < 8; ++i) code_.dd(0xffffffffu);
  for (int i = 0; i < 8; ++i) code_.dd(0);
}

}  // namespace fuseplan::cpu
