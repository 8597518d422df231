// SPDX-License-Identifier: MIT
// Intel's manual, volume 2, section 2.7: the four bytes in front of an opcode, and displacements of
// one byte in units of what the instruction reads.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kMap0F = 1, kMap0F38 = 2;  // where the opcode stands
constexpr int kNone = 0, k66 = 1;        // the prefix it would have had
constexpr int kNoSource = -1;

/// A whole 512-bit register: no mask, no rounding of its own.
bool is_plain(const Xbyak::Operand& reg) {
  return reg.isZMM() && reg.getOpmaskIdx() == 0 && !reg.hasZero() && reg.getRounding() == 0;
}

/// The base register of an address that is no more than that and a displacement; -1 for others.
int base_of(const Xbyak::Address& address) {
  if (address.getMode() != Xbyak::Address::M_ModRM || address.getOpmaskIdx() != 0) return -1;
  const Xbyak::RegExp at = address.getRegExp(false);
  return at.getBase().isREG(64) && at.getIndex().getBit() == 0 ? at.getBase().getIdx() : -1;
}

/// Writes what follows the ModRM byte for [base + displacement], a displacement of one byte
/// counting in `unit`s; returns the mode and base that ModRM says then.
int put_address(std::uint8_t* code, std::size_t& size, int base, std::int32_t displacement,
                int unit) {
  const int low = base & 7;
  if (low == 4) code[size++] = 0x24;              // rsp and r12 are spelled with no index
  if (displacement == 0 && low != 5) return low;  // rbp and r13 cannot stand alone
  const std::int32_t units = displacement / unit;
  if (displacement % unit == 0 && units >= -128 && units <= 127) {
    code[size++] = static_cast<std::uint8_t>(units);
    return 0x40 | low;
  }
  std::memcpy(code + size, &displacement, sizeof displacement);
  size += sizeof displacement;
  return 0x80 | low;
}

}  // namespace

/// False, and nothing emitted, if an operand is none of the plain ones.
bool VectorCode::encode(WideInstruction instruction, const Vec& d, int source,
                        const Xbyak::Operand& from) {
  if (!is_plain(d)) return false;
  instruction.d = static_cast<std::uint8_t>(d.getIdx());
  instruction.source = static_cast<std::int8_t>(source);
  int last = from.getIdx();
  if (from.isMEM()) {
    const auto& address = static_cast<const Xbyak::Address&>(from);
    last = base_of(address);
    if (last < 0) return false;
    instruction.memory = true;
    instruction.broadcast = address.isBroadcast();
    instruction.displacement = static_cast<std::int32_t>(address.getDisp());
  } else if (!is_plain(from)) {
    return false;
  }
  instruction.last = static_cast<std::uint8_t>(last);
  put(instruction);
  return true;
}

/// All of `code` is copied, as that takes one instruction; what lies behind `size` is overwritten
/// by what follows.
inline void VectorCode::append(const Bytes& code, std::size_t size) {
  if (size_ + code.size() > maxSize_) growMemory();
  std::memcpy(top_ + size_, code.data(), code.size());
  size_ += size;
}

void VectorCode::put(const WideInstruction& instruction) {
  const std::size_t begin = size_;
  Bytes code{};
  std::size_t size = 6;
  const int reg = instruction.d, source = std::max<int>(0, instruction.source),
            last = instruction.last;
  int index_bit = 0, mod_rm = (reg & 7) << 3;
  if (instruction.memory) {
    mod_rm |= put_address(code.data(), size, last, instruction.displacement,
                          instruction.broadcast ? 4 : instruction.bytes);
  } else {
    index_bit = last >> 4;
    mod_rm |= 0xc0 | (last & 7);
  }
  const auto inverted = [](int number, int bit) { return ~number >> bit & 1; };
  code[0] = 0x62;
  code[1] =
      static_cast<std::uint8_t>(inverted(reg, 3) << 7 | inverted(index_bit, 0) << 6 |
                                inverted(last, 3) << 5 | inverted(reg, 4) << 4 | instruction.map);
  code[2] = static_cast<std::uint8_t>((~source & 15) << 3 | 4 | instruction.prefix);
  code[3] = static_cast<std::uint8_t>(2 << 5 | (instruction.broadcast ? 1 : 0) << 4 |
                                      inverted(source, 4) << 3);
  code[4] = instruction.opcode;
  code[5] = static_cast<std::uint8_t>(mod_rm);
  append(code, size);
  if (!recording_) return;
  recording_->complete = recording_->complete && recording_->end == begin;
  recording_->end = size_;
  recording_->instructions.push_back(instruction);
}

/// Volume 2, section 2.1: no prefix but that of the upper eight base registers, displacements in
/// bytes.
bool VectorCode::encode_prefetch(std::uint8_t opcode, int field, const Xbyak::Address& at) {
  const int base = base_of(at);
  if (base < 0) return false;
  Bytes code{};
  std::size_t size = 0;
  if (base > 7) code[size++] = 0x41;
  code[size++] = 0x0f;
  code[size++] = opcode;
  std::uint8_t& mod_rm = code[size++];
  mod_rm = static_cast<std::uint8_t>(
      field << 3 |
      put_address(code.data(), size, base, static_cast<std::int32_t>(at.getDisp()), 1));
  append(code, size);
  return true;
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

void VectorCode::clear(int reg) {
  const int low = reg & 7, others = (~reg & 15) << 3;  // the two that are added to each other
  const auto byte = [](int value) { return static_cast<std::uint8_t>(value); };
  const std::uint8_t opcode = 0x57, mod_rm = byte(0xc0 | low << 3 | low);
  if (reg < 8) {
    append({0xc5, byte(0x80 | others), opcode, mod_rm}, 4);
  } else if (reg < 16) {
    append({0xc4, 0x41, byte(others), opcode, mod_rm}, 5);
  } else {
    const int upper = (reg & 8) == 0 ? 0xa1 : 0x01;
    append({0x62, byte(upper), byte(others | 4), 0, opcode, mod_rm}, 6);
  }
}

void VectorCode::record() { recording_ = Recording{.instructions = {}, .end = size_}; }

std::optional<std::vector<WideInstruction>> VectorCode::recorded() {
  Recording recording = std::move(*recording_);
  recording_.reset();
  if (!recording.complete || recording.end != size_) return std::nullopt;
  return std::move(recording.instructions);
}

void VectorCode::vaddps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F, kNone, 0x58, 64}, d, a.getIdx(), b))
    CodeGenerator::vaddps(d, a, b);
}

void VectorCode::vsubps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F, kNone, 0x5c, 64}, d, a.getIdx(), b))
    CodeGenerator::vsubps(d, a, b);
}

void VectorCode::vmulps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F, kNone, 0x59, 64}, d, a.getIdx(), b))
    CodeGenerator::vmulps(d, a, b);
}

void VectorCode::vminps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F, kNone, 0x5d, 64}, d, a.getIdx(), b))
    CodeGenerator::vminps(d, a, b);
}

void VectorCode::vmaxps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F, kNone, 0x5f, 64}, d, a.getIdx(), b))
    CodeGenerator::vmaxps(d, a, b);
}

void VectorCode::vfmadd132ps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F38, k66, 0x98, 64}, d, a.getIdx(), b))
    CodeGenerator::vfmadd132ps(d, a, b);
}

void VectorCode::vfmadd213ps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F38, k66, 0xa8, 64}, d, a.getIdx(), b))
    CodeGenerator::vfmadd213ps(d, a, b);
}

void VectorCode::vfmadd231ps(const Vec& d, const Vec& a, const Xbyak::Operand& b) {
  if (!is_plain(a) || !encode({kMap0F38, k66, 0xb8, 64}, d, a.getIdx(), b))
    CodeGenerator::vfmadd231ps(d, a, b);
}

void VectorCode::vmovups(const Vec& d, const Xbyak::Operand& from) {
  if (!encode({kMap0F, kNone, 0x10, 64}, d, kNoSource, from)) CodeGenerator::vmovups(d, from);
}

void VectorCode::vmovups(const Xbyak::Address& to, const Vec& from) {
  if (!encode({kMap0F, kNone, 0x11, 64}, from, kNoSource, to)) CodeGenerator::vmovups(to, from);
}

void VectorCode::vmovntps(const Xbyak::Address& to, const Vec& from) {
  if (!encode({kMap0F, kNone, 0x2b, 64}, from, kNoSource, to)) CodeGenerator::vmovntps(to, from);
}

void VectorCode::vbroadcastss(const Vec& d, const Xbyak::Operand& from) {
  if (!from.isMEM() || !encode({kMap0F38, k66, 0x18, 4}, d, kNoSource, from))
    CodeGenerator::vbroadcastss(d, from);
}

}  // namespace fuseplan::cpu
