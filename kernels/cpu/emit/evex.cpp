// SPDX-License-Identifier: MIT
// Intel's manual, volume 2, section 2.7: the four bytes in front of an opcode, and displacements of
// one byte in units of what the instruction reads.
#include <cstring>

#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kMap0F = 1, kMap0F38 = 2;  // where the opcode stands
constexpr int kNone = 0, k66 = 1;        // the prefix it would have had
constexpr int kLongest = 16;

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

}  // namespace

/// What tells one instruction from another; `bytes` is what it reads from memory.
struct VectorCode::Evex {
  int map, prefix, opcode, bytes;
};

/// False, and nothing emitted, if an operand is none of the plain ones. `source`: the register
/// between the other two, 0 if there is none.
bool VectorCode::encode(const Evex& instruction, const Vec& d, int source,
                        const Xbyak::Operand& from) {
  if (!is_plain(d)) return false;
  std::uint8_t code[kLongest];
  int size = 6;
  const int reg = d.getIdx();
  int base = 0, index_bit = 0, broadcast = 0, mod_rm = (reg & 7) << 3;
  if (from.isMEM()) {
    const auto& address = static_cast<const Xbyak::Address&>(from);
    base = base_of(address);
    if (base < 0) return false;
    broadcast = address.isBroadcast() ? 1 : 0;
    const auto displacement = static_cast<std::int32_t>(address.getDisp());
    const int unit = broadcast != 0 ? 4 : instruction.bytes;
    mod_rm |= base & 7;
    if ((base & 7) == 4) code[size++] = 0x24;  // rsp and r12 are spelled with no index
    if (displacement == 0 && (base & 7) != 5) {
      // rbp and r13 cannot stand alone.
    } else if (displacement % unit == 0 && displacement / unit >= -128 &&
               displacement / unit <= 127) {
      mod_rm |= 0x40;
      code[size++] = static_cast<std::uint8_t>(displacement / unit);
    } else {
      mod_rm |= 0x80;
      std::memcpy(code + size, &displacement, sizeof displacement);
      size += static_cast<int>(sizeof displacement);
    }
  } else {
    if (!is_plain(from)) return false;
    base = from.getIdx();
    index_bit = base >> 4;
    mod_rm |= 0xc0 | (base & 7);
  }
  const auto inverted = [](int number, int bit) { return ~number >> bit & 1; };
  code[0] = 0x62;
  code[1] =
      static_cast<std::uint8_t>(inverted(reg, 3) << 7 | inverted(index_bit, 0) << 6 |
                                inverted(base, 3) << 5 | inverted(reg, 4) << 4 | instruction.map);
  code[2] = static_cast<std::uint8_t>((~source & 15) << 3 | 4 | instruction.prefix);
  code[3] = static_cast<std::uint8_t>(2 << 5 | broadcast << 4 | inverted(source, 4) << 3);
  code[4] = static_cast<std::uint8_t>(instruction.opcode);
  code[5] = static_cast<std::uint8_t>(mod_rm);
  if (size_ + kLongest > maxSize_) growMemory();
  std::memcpy(top_ + size_, code, static_cast<std::size_t>(size));
  size_ += static_cast<std::size_t>(size);
  return true;
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
  if (!encode({kMap0F, kNone, 0x10, 64}, d, 0, from)) CodeGenerator::vmovups(d, from);
}

void VectorCode::vmovups(const Xbyak::Address& to, const Vec& from) {
  if (!encode({kMap0F, kNone, 0x11, 64}, from, 0, to)) CodeGenerator::vmovups(to, from);
}

void VectorCode::vbroadcastss(const Vec& d, const Xbyak::Operand& from) {
  if (!from.isMEM() || !encode({kMap0F38, k66, 0x18, 4}, d, 0, from))
    CodeGenerator::vbroadcastss(d, from);
}

}  // namespace fuseplan::cpu
