// SPDX-License-Identifier: MIT
// Intel's manual, volume 2. Section 2.7, EVEX: the four bytes in front of an opcode, and
// displacements of one byte in units of what the instruction reads. Section 2.3, VEX: two or three
// bytes, and displacements in bytes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kMap0F = 1, kMap0F38 = 2;  // where the opcode stands
constexpr int kNone = 0, k66 = 1;        // the prefix it would have had
constexpr int kNoSource = -1;

// Those that are spelled by operands and by numbers.
constexpr VectorInstruction kAdd{kMap0F, kNone, 0x58, 64}, kLoad{kMap0F, kNone, 0x10, 64},
    kStore{kMap0F, kNone, 0x11, 64}, kMultiplyAdd{kMap0F38, k66, 0xb8, 64},
    kBroadcast{kMap0F38, k66, 0x18, 4};

/// A whole register of the set it is encoded for: no mask, no rounding of its own.
bool is_plain(const Xbyak::Operand& reg) {
  if (reg.isYMM() ? reg.getIdx() >= 16 : !reg.isZMM()) return false;
  return reg.getOpmaskIdx() == 0 && !reg.hasZero() && reg.getRounding() == 0;
}

/// An address by 64-bit registers, if it is no more than that.
std::optional<Near> near_of(const Xbyak::Address& address) {
  if (address.getMode() != Xbyak::Address::M_ModRM || address.getOpmaskIdx() != 0)
    return std::nullopt;
  const Xbyak::RegExp at = address.getRegExp(false);
  if (!at.getBase().isREG(64)) return std::nullopt;
  const Near near{at.getBase().getIdx(), static_cast<std::int32_t>(address.getDisp())};
  if (at.getIndex().getBit() == 0) return near;
  if (!at.getIndex().isREG(64)) return std::nullopt;
  return Near(near.base, near.displacement, at.getIndex().getIdx(),
              std::countr_zero(static_cast<unsigned>(at.getScale())));
}

/// Instead of a base register: the address is counted from the end of the instruction.
constexpr int kBehind = -1;

/// Bit 3 of a register's number, which stands in a prefix; 0 for none.
unsigned upper_bit(int reg) { return reg < 0 ? 0 : static_cast<unsigned>(reg) >> 3 & 1; }

/// Writes what follows the ModRM byte for an address, a displacement of one byte counting in
/// `unit`s; returns the mode and base that ModRM says then.
unsigned put_address(std::uint8_t* code, std::size_t& size, Near at, unsigned unit) {
  if (at.base == kBehind) {
    std::memcpy(code + size, &at.displacement, sizeof at.displacement);
    size += sizeof at.displacement;
    return 5;
  }
  const unsigned low = at.base & 7;
  const bool has_index = at.index >= 0 || low == 4;  // rsp and r12 are spelled with none
  const unsigned index = at.index >= 0 ? at.index & 7 : 4;
  if (has_index) code[size++] = static_cast<std::uint8_t>(at.shift << 6 | index << 3 | low);
  const unsigned base = has_index ? 4 : low;
  if (at.displacement == 0 && low != 5) return base;  // rbp and r13 cannot stand alone
  const std::int32_t units = at.displacement >> std::countr_zero(unit);  // a division takes longer
  if ((static_cast<unsigned>(at.displacement) & (unit - 1)) == 0 && units >= -128 && units <= 127) {
    code[size++] = static_cast<std::uint8_t>(units);
    return 0x40 | base;
  }
  std::memcpy(code + size, &at.displacement, sizeof at.displacement);
  size += sizeof at.displacement;
  return 0x80 | base;
}

}  // namespace

/// False, and nothing emitted, if an operand is none of the plain ones.
bool VectorCode::encode(VectorInstruction instruction, const Vec& d, int source,
                        const Xbyak::Operand& from) {
  if (!is_plain(d)) return false;
  instruction.is_ymm = d.isYMM();
  instruction.d = static_cast<std::uint8_t>(d.getIdx());
  instruction.source = static_cast<std::int8_t>(source);
  if (from.isMEM()) {
    const auto& address = static_cast<const Xbyak::Address&>(from);
    const auto near = near_of(address);
    if (!near) return false;
    instruction.memory = true;
    instruction.at = *near;
    instruction.broadcast = address.isBroadcast();
    if (instruction.broadcast && instruction.is_ymm) return false;
  } else {
    if (!is_plain(from) || from.isYMM() != instruction.is_ymm) return false;
    instruction.last = static_cast<std::uint8_t>(from.getIdx());
  }
  put(instruction);
  return true;
}

bool VectorCode::encode_three(const VectorInstruction& instruction, const Vec& d, const Vec& a,
                              const Xbyak::Operand& b) {
  return is_plain(a) && a.isYMM() == d.isYMM() && encode(instruction, d, a.getIdx(), b);
}

bool VectorCode::encode_three(const VectorInstruction& instruction, const Vec& d, const Vec& a,
                              const Source& b) {
  if (!b.is_constant())
    return encode_three(instruction, d, a, static_cast<const Xbyak::Operand&>(b));
  const auto is_whole = [&](const Vec& v) { return is_plain(v) && v.isZMM() == is_avx512(); };
  if (!is_whole(d) || !is_whole(a)) return false;
  VectorInstruction behind = instruction;
  behind.d = static_cast<std::uint8_t>(d.getIdx());
  behind.source = static_cast<std::int8_t>(a.getIdx());
  behind.broadcast = is_avx512();
  put_behind(behind, b.bits());
  return true;
}

/// Where the next instruction goes. It is written there byte by byte and never read: what it is
/// made of stays in registers.
inline std::uint8_t* VectorCode::room() {
  constexpr std::size_t kMost = 16;  // more than any instruction takes
  if (size_ + kMost > maxSize_) growMemory();
  return top_ + size_;
}

void VectorCode::put(const VectorInstruction& instruction) {
  const std::size_t begin = size_;
  instruction.is_ymm ? put_vex(instruction) : put_evex(instruction);
  if (!recording_) return;
  recording_->complete = recording_->complete && recording_->end == begin;
  recording_->end = size_;
  recording_->instructions.push_back(instruction);
}

inline void VectorCode::put_evex(const VectorInstruction& instruction) {
  std::uint8_t* const code = room();
  std::size_t size = 6;
  const unsigned reg = instruction.d, last = instruction.last;
  const auto source = static_cast<unsigned>(std::max<int>(0, instruction.source));
  unsigned mod_rm = (reg & 7) << 3, index_bit = 0, base_bit = 0;
  if (instruction.memory) {
    const Near at = instruction.at;
    mod_rm |= put_address(code, size, at, instruction.broadcast ? 4 : instruction.bytes);
    index_bit = upper_bit(at.index);
    base_bit = upper_bit(at.base);
  } else {
    mod_rm |= 0xc0 | (last & 7);
    index_bit = last >> 4 & 1;
    base_bit = last >> 3 & 1;
  }
  const auto inverted = [](unsigned number, int bit) { return ~number >> bit & 1; };
  const unsigned first = inverted(reg, 3) << 7 | (index_bit ^ 1) << 6 | (base_bit ^ 1) << 5 |
                         inverted(reg, 4) << 4 | instruction.map;
  const unsigned second = (~source & 15) << 3 | 4 | instruction.prefix;
  const unsigned third =
      2u << 5 | (instruction.broadcast ? 1u : 0u) << 4 | inverted(source, 4) << 3;
  const std::uint32_t prefix = 0x62 | first << 8 | second << 16 | third << 24;
  const auto opcode = static_cast<std::uint16_t>(instruction.opcode | mod_rm << 8);
  std::memcpy(code, &prefix, sizeof prefix);
  std::memcpy(code + sizeof prefix, &opcode, sizeof opcode);
  size_ += size;
}

/// The shorter form has no bits for the upper eight registers in the last operand, nor for a map.
inline void VectorCode::put_vex(const VectorInstruction& instruction) {
  std::uint8_t* const code = room();
  const auto byte = [](unsigned value) { return static_cast<std::uint8_t>(value); };
  const Near at = instruction.at;
  const auto source = static_cast<unsigned>(std::max<int>(0, instruction.source));
  const unsigned reg_bit = upper_bit(instruction.d) ^ 1;
  const unsigned index_bit = instruction.memory ? upper_bit(at.index) : 0;
  const unsigned base_bit = upper_bit(instruction.memory ? at.base : instruction.last);
  const unsigned rest = (~source & 15) << 3 | 4 | instruction.prefix;
  std::size_t size = 0;
  if (index_bit == 0 && base_bit == 0 && instruction.map == kMap0F) {
    code[size++] = 0xc5;
    code[size++] = byte(reg_bit << 7 | rest);
  } else {
    code[size++] = 0xc4;
    code[size++] =
        byte(reg_bit << 7 | (index_bit ^ 1) << 6 | (base_bit ^ 1) << 5 | instruction.map);
    code[size++] = byte(rest);
  }
  code[size++] = instruction.opcode;
  std::uint8_t& mod_rm = code[size++];
  const unsigned last =
      instruction.memory ? put_address(code, size, at, 1) : 0xc0u | (instruction.last & 7u);
  mod_rm = byte((instruction.d & 7u) << 3 | last);
  size_ += size;
}

/// Not put(): it cannot be repeated elsewhere.
void VectorCode::put_behind(VectorInstruction instruction, std::uint32_t value) {
  instruction.is_ymm = !is_avx512();
  instruction.memory = true;
  instruction.at = {kBehind, 0};
  instruction.is_ymm ? put_vex(instruction) : put_evex(instruction);
  ends_with(value, 4);
}

void VectorCode::put_load(int d, std::uint32_t value) {
  VectorInstruction load = is_avx512() ? kBroadcast : VectorInstruction{kMap0F, kNone, 0x28, 32};
  load.d = static_cast<std::uint8_t>(d);
  put_behind(load, value);
}

void VectorCode::put_near(VectorInstruction instruction, int d, int source, Near at) {
  instruction.d = static_cast<std::uint8_t>(d);
  instruction.source = static_cast<std::int8_t>(source);
  instruction.is_ymm = !is_avx512();
  instruction.memory = true;
  instruction.at = at;
  put(instruction);
}

bool VectorCode::encode_prefetch(std::uint8_t opcode, unsigned field, const Xbyak::Address& at) {
  const auto near = near_of(at);
  if (near) put_prefetch(opcode, field, *near);
  return near.has_value();
}

/// Volume 2, section 2.1: no prefix but that of the upper eight registers, displacements in bytes.
void VectorCode::put_prefetch(std::uint8_t opcode, unsigned field, Near at) {
  std::uint8_t* const code = room();
  std::size_t size = 0;
  const unsigned upper = upper_bit(at.index) << 1 | upper_bit(at.base);
  if (upper != 0) code[size++] = static_cast<std::uint8_t>(0x40 | upper);
  code[size++] = 0x0f;
  code[size++] = opcode;
  std::uint8_t& mod_rm = code[size++];
  mod_rm = static_cast<std::uint8_t>(field << 3 | put_address(code, size, at, 1));
  size_ += size;
}

void VectorCode::prefetcht0(const Xbyak::Address& at) {
  if (!encode_prefetch(0x18, 1, at)) CodeGenerator::prefetcht0(at);
}

void VectorCode::prefetcht1(const Xbyak::Address& at) {
  if (!encode_prefetch(0x18, 2, at)) CodeGenerator::prefetcht1(at);
}

void VectorCode::prefetchw(const Xbyak::Address& at) {
  if (!encode_prefetch(0x0d, 1, at)) CodeGenerator::prefetchw(at);
}

void VectorCode::prefetcht0(Near at) { put_prefetch(0x18, 1, at); }

void VectorCode::prefetcht1(Near at) { put_prefetch(0x18, 2, at); }

void VectorCode::prefetchw(Near at) { put_prefetch(0x0d, 1, at); }

void VectorCode::vaddps(int d, int a, Near b) { put_near(kAdd, d, a, b); }

void VectorCode::vfmadd231ps(int d, int a, Near b) { put_near(kMultiplyAdd, d, a, b); }

void VectorCode::vfmadd231ps(int d, int a, int b) {
  VectorInstruction instruction = kMultiplyAdd;
  instruction.d = static_cast<std::uint8_t>(d);
  instruction.source = static_cast<std::int8_t>(a);
  instruction.last = static_cast<std::uint8_t>(b);
  instruction.is_ymm = !is_avx512();
  put(instruction);
}

void VectorCode::vmovups(int d, Near from) { put_near(kLoad, d, kNoSource, from); }

void VectorCode::vmovups(Near to, int from) { put_near(kStore, from, kNoSource, to); }

void VectorCode::vbroadcastss(int d, Near from) { put_near(kBroadcast, d, kNoSource, from); }

void VectorCode::clear(int reg) {
  std::uint8_t* const code = room();
  const int low = reg & 7, others = (~reg & 15) << 3;  // the two that are added to each other
  const auto write = [&](std::initializer_list<int> bytes) {
    std::ranges::transform(bytes, code, [](int value) { return static_cast<std::uint8_t>(value); });
    size_ += bytes.size();
  };
  const int opcode = 0x57, mod_rm = 0xc0 | low << 3 | low;
  if (reg < 8) {
    write({0xc5, 0x80 | others, opcode, mod_rm});
  } else if (reg < 16) {
    write({0xc4, 0x41, others, opcode, mod_rm});
  } else {
    const int upper = (reg & 8) == 0 ? 0xa1 : 0x01;
    write({0x62, upper, others | 4, 0, opcode, mod_rm});
  }
}

VectorCode::Forward VectorCode::jump_forward(If condition) {
  db(0x0f);
  db(static_cast<int>(condition));
  dd(0);  // how far is not known yet
  return {size_};
}

void VectorCode::land(Forward jump) {
  constexpr std::size_t kDistance = 4;  // the last bytes, counted from the end
  rewrite(jump.end - kDistance, size_ - jump.end, kDistance);
}

void VectorCode::record() {
  constexpr std::size_t kUsual = 16;
  recording_ = Recording{.instructions = {}, .end = size_};
  recording_->instructions.reserve(kUsual);
}

std::optional<std::vector<VectorInstruction>> VectorCode::recorded() {
  Recording recording = std::move(*recording_);
  recording_.reset();
  if (!recording.complete || recording.end != size_) return std::nullopt;
  return std::move(recording.instructions);
}

#define FUSEPLAN_THREE(name, ...)                                              \
  void VectorCode::name(const Vec& d, const Vec& a, const Xbyak::Operand& b) { \
    if (!encode_three(__VA_ARGS__, d, a, b)) CodeGenerator::name(d, a, b);     \
  }                                                                            \
  void VectorCode::name(const Vec& d, const Vec& a, const Source& b) {         \
    if (!encode_three(__VA_ARGS__, d, a, b)) CodeGenerator::name(d, a, b);     \
  }
FUSEPLAN_THREE(vaddps, kAdd)
FUSEPLAN_THREE(vsubps, {kMap0F, kNone, 0x5c, 64})
FUSEPLAN_THREE(vmulps, {kMap0F, kNone, 0x59, 64})
FUSEPLAN_THREE(vminps, {kMap0F, kNone, 0x5d, 64})
FUSEPLAN_THREE(vmaxps, {kMap0F, kNone, 0x5f, 64})
FUSEPLAN_THREE(vfmadd132ps, {kMap0F38, k66, 0x98, 64})
FUSEPLAN_THREE(vfmadd213ps, {kMap0F38, k66, 0xa8, 64})
FUSEPLAN_THREE(vfmadd231ps, kMultiplyAdd)
#undef FUSEPLAN_THREE

void VectorCode::vmovups(const Vec& d, const Xbyak::Operand& from) {
  if (!encode(kLoad, d, kNoSource, from)) CodeGenerator::vmovups(d, from);
}

void VectorCode::vmovups(const Xbyak::Address& to, const Vec& from) {
  if (!encode(kStore, from, kNoSource, to)) CodeGenerator::vmovups(to, from);
}

void VectorCode::vmovaps(const Vec& d, const Xbyak::Operand& from) {
  if (!encode({kMap0F, kNone, 0x28, 64}, d, kNoSource, from)) CodeGenerator::vmovaps(d, from);
}

void VectorCode::vmovaps(const Xbyak::Address& to, const Vec& from) {
  if (!encode({kMap0F, kNone, 0x29, 64}, from, kNoSource, to)) CodeGenerator::vmovaps(to, from);
}

void VectorCode::vmovntps(const Xbyak::Address& to, const Vec& from) {
  if (!encode({kMap0F, kNone, 0x2b, 64}, from, kNoSource, to)) CodeGenerator::vmovntps(to, from);
}

void VectorCode::vbroadcastss(const Vec& d, const Xbyak::Operand& from) {
  if (!from.isMEM() || !encode(kBroadcast, d, kNoSource, from))
    CodeGenerator::vbroadcastss(d, from);
}

}  // namespace fuseplan::cpu
