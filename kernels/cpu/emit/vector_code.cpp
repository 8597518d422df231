// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/vector_code.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace fuseplan::cpu {

namespace {

constexpr std::size_t kInitialBytes = 16384;
constexpr int kTailMask = 1;  // k1 belongs to partial vectors, k0 cannot be used as a mask
const Xbyak::Reg64 kSaved[] = {Xbyak::util::rbx, Xbyak::util::r12, Xbyak::util::r13,
                               Xbyak::util::r14, Xbyak::util::r15};

/// The buffer that most functions fit, kept by each thread from one function to the next.
struct KeptBuffer {
  std::uint8_t* bytes = nullptr;
  bool taken = false;
  ~KeptBuffer() { std::free(bytes); }
};

Xbyak::Allocator* heap_allocator() {
  static thread_local KeptBuffer kept;
  struct Heap : Xbyak::Allocator {
    std::uint8_t* alloc(std::size_t size) override {
      if (size != kInitialBytes || kept.taken) return Xbyak::Allocator::alloc(size);
      if (kept.bytes == nullptr) kept.bytes = Xbyak::Allocator::alloc(size);
      kept.taken = kept.bytes != nullptr;
      return kept.bytes;
    }
    void free(std::uint8_t* bytes) override {
      if (bytes != kept.bytes) return Xbyak::Allocator::free(bytes);
      kept.taken = false;
    }
    bool useProtect() const override { return false; }
  };
  static Heap heap;
  return &heap;
}

}  // namespace

// Code is written to plain heap memory and never made executable there: mapping is the loader's.
VectorCode::VectorCode(Isa isa)
    : Xbyak::CodeGenerator(kInitialBytes, Xbyak::AutoGrow, heap_allocator()), isa_(isa) {
  setDefaultJmpNEAR(true);
  vectors_.reserve(static_cast<std::size_t>(count(isa)));
  masks_.reserve(8);
  for (int i = count(isa) - 1; i >= 0; --i) vectors_.give(i);
  for (int i = 7; i > kTailMask; --i) masks_.give(i);
}

Vec VectorCode::half(const Vec& v) const {
  if (is_avx512()) return Xbyak::Ymm(v.getIdx());
  return Xbyak::Xmm(v.getIdx());
}

Xbyak::Address VectorCode::pooled(std::uint64_t value, int size) {
  std::optional<Xbyak::Label>& label = pool_[{size, value}].label;
  if (!label) label.emplace();
  if (is_avx512()) return ptr_b[rip + *label];
  return ptr[rip + *label];
}

/// The instruction just emitted, from `rip` with nothing behind its displacement, reads a constant.
void VectorCode::ends_with(std::uint64_t value, int size) {
  pool_[{size, value}].ends.push_back(getSize());
}

Source VectorCode::bits(std::uint32_t value) {
  ++uses_[value];
  const auto hoisted = hoisted_.find(value);
  if (hoisted != hoisted_.end()) return vec(hoisted->second);
  return {pooled(value, 4), value};
}

std::vector<std::uint32_t> VectorCode::used_constants() const {
  std::vector<std::pair<int, std::uint32_t>> order;
  for (const auto& [value, count] : uses_) order.emplace_back(-count, value);
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> values;
  for (const auto& [count, value] : order) values.push_back(value);
  return values;
}

void VectorCode::hoist(std::uint32_t value) {
  const Vec reg = vec(vectors_.take());
  load_bits(reg, value);
  hoisted_.emplace(value, reg.getIdx());
}

void VectorCode::load_bits(const Vec& d, std::uint32_t value) {
  ++uses_[value];
  const auto hoisted = hoisted_.find(value);
  if (hoisted != hoisted_.end()) {
    vmovaps(d, vec(hoisted->second));
  } else if (value == 0) {
    clear(d.getIdx());
  } else {
    put_load(d.getIdx(), value);
  }
}

void VectorCode::load(const Vec& d, float value) {
  load_bits(d, std::bit_cast<std::uint32_t>(value));
}

void VectorCode::look_up(const Vec& d, const Vec& index, const Table& table) {
  vpermps(Xbyak::Zmm(d.getIdx()), Xbyak::Zmm(index.getIdx()),
          ptr[rip + tables_[std::bit_cast<Lanes>(table)]]);
}

void VectorCode::load_lanes(const Vec& d, const Lanes& lanes) {
  vmovups(d, ptr[rip + tables_[lanes]]);
}

void VectorCode::load64(const Vec& d, double value) {
  is_avx512() ? vbroadcastsd(Xbyak::Zmm(d.getIdx()), ptr[rip]) : vmovapd(d, ptr[rip]);
  ends_with(std::bit_cast<std::uint64_t>(value), 8);
}

void VectorCode::move(const Vec& d, const Source& source) {
  if (source.is_constant()) {
    load_bits(d, source.bits());
  } else if (!source.is_reg()) {
    vmovups(d, source);
  } else if (source.reg().getIdx() != d.getIdx()) {
    vmovups(d, source);
  }
}

int VectorCode::reserve_words(int count) {
  require(slots_ == 0, Status::InternalError, "stack words must be reserved before vectors");
  const int first = words_;
  words_ += count;
  slots_offset_ = (8 * words_ + 63) / 64 * 64;
  return first;
}

int VectorCode::take_slots(int count) {
  slots_ += count;
  return slots_ - count;
}

int VectorCode::take_slot() {
  if (free_slots_.empty()) return take_slots(1);
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void VectorCode::enter() {
  push(rbp);
  mov(rbp, rsp);
  for (const auto& reg : kSaved) push(reg);
  and_(rsp, -64);
  sub(rsp, 0x7fffffff);  // the immediate is the last four bytes
  frame_patch_ = getSize() - 4;
}

void VectorCode::leave() {
  lea(rsp, ptr[rbp - 8 * static_cast<int>(std::size(kSaved))]);
  for (std::size_t i = std::size(kSaved); i-- > 0;) pop(kSaved[i]);
  pop(rbp);
  vzeroupper();
  ret();
}

void VectorCode::scale(const Vec& x, const Vec& n) {
  if (is_avx512()) return vscalefps(x, x, n);
  // 2^n = 2^h 2^(n-h) with h = n >> 1: neither factor leaves the range for |n| <= 252.
  Temp h(*this);
  vcvtps2dq(n, n);
  vpsrad(h, n, 1);
  vpsubd(n, n, h);
  for (const Vec& part : {Vec(h), n}) {
    vpslld(part, part, 23);
    vpaddd(part, part, constant(1.0f));
    vmulps(x, x, part);
  }
}

void VectorCode::reciprocal(const Vec& d, const Vec& b) {
  Temp y(*this);
  if (!is_avx512()) {
    load(y, 1.0f);
    return vdivps(d, y, b);
  }
  vrcp14ps(y, b);
  vfnmadd213ps(b, y, constant(1.0f));  // e = 1 - b y
  vfmadd213ps(b, y, y);                // y + y e
  move(d, Source(b));
}

void VectorCode::round_to_integer(const Vec& d, const Source& a) {
  if (is_avx512()) {
    vrndscaleps(d, a, 0);
  } else {
    vroundps(d, a, 0);
  }
}

void VectorCode::polynomial(const Vec& d, const Vec& x, const float* c, int n) {
  constexpr int kLong = 6;
  if (n < kLong) return horner(d, x, c, n, 1);
  Temp odd(*this), square(*this);
  vmulps(square, x, x);
  horner(d, square, c, n, 2);
  horner(odd, square, c + 1, n - 1, 2);
  vfmadd231ps(d, odd, x);
}

void VectorCode::horner(const Vec& d, const Vec& x, const float* c, int n, int step) {
  int i = (n - 1) / step * step;
  load(d, c[i]);
  while ((i -= step) >= 0) vfmadd213ps(d, x, constant(c[i]));
}

void VectorCode::emit_pool() {
  align(64);
  for (auto& [values, label] : tables_) {
    L(label);
    for (const std::uint32_t value : values) dd(value);
  }
  const int copies_bytes = is_avx512() ? 0 : bytes();
  for (auto entry = pool_.rbegin(); entry != pool_.rend(); ++entry) {  // 8-byte constants first
    const auto& [size, value] = entry->first;
    const auto& label = entry->second.label;
    if (label && label->getId() != 0) L(*entry->second.label);  // somebody reads it by that
    for (const std::size_t end : entry->second.ends) rewrite(end - 4, getSize() - end, 4);
    for (int at = 0; at == 0 || at < copies_bytes; at += size) {
      if (size == 8) {
        dq(value);
      } else {
        dd(static_cast<std::uint32_t>(value));
      }
    }
  }
}

std::vector<std::byte> VectorCode::finish() {
  emit_pool();
  if (frame_patch_ != 0) {
    const int frame = slots_offset_ + (bytes() * slots_ + 63) / 64 * 64;
    rewrite(frame_patch_, static_cast<std::uint64_t>(frame), 4);
  }
  ready();
  std::vector<std::byte> code(getSize());
  std::memcpy(code.data(), getCode(), code.size());
  return code;
}

Mask::Mask(VectorCode& code)
    : code_(code), index_(code.is_avx512() ? code.masks().take() : code.vectors().take()) {}

Mask::~Mask() { (code_.is_avx512() ? code_.masks() : code_.vectors()).give(index_); }

void Mask::compare(const Vec& a, const Source& b, Compare predicate) {
  const auto imm = static_cast<std::uint8_t>(predicate);
  if (code_.is_avx512()) {
    code_.vcmpps(k(), a, b, imm);
  } else {
    code_.vcmpps(vec(), a, b, imm);
  }
}

void Mask::both(const Mask& a, const Mask& b) {
  if (code_.is_avx512()) {
    code_.kandw(k(), a.k(), b.k());
  } else {
    code_.vandps(vec(), a.vec(), b.vec());
  }
}

void Mask::only_first(const Mask& a, const Mask& b) {
  if (code_.is_avx512()) {
    code_.kandnw(k(), b.k(), a.k());
  } else {
    code_.vandnps(vec(), b.vec(), a.vec());
  }
}

void Mask::blend(const Vec& d, const Source& on_true) const {
  if (code_.is_avx512()) {
    code_.vblendmps(d | k(), d, on_true);
  } else {
    code_.vblendvps(d, d, on_true, vec());
  }
}

}  // namespace fuseplan::cpu
