// SPDX-License-Identifier: MIT
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/containers.hpp"
#include "kernels/cpu/emit/registers.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// A zmm register on AVX-512, a ymm register on AVX2: Xbyak operands know their own width.
using Vec = Xbyak::Xmm;

/// A source of a vector instruction: a register, a whole vector in memory, or a constant of the
/// pool. Memory and constants may only stand in the last place of an instruction.
class Source {
 public:
  Source(const Vec& reg) : kind_(Kind::reg), reg_(reg) {}
  explicit Source(const Xbyak::Address& address) : kind_(Kind::memory), address_(address) {}
  Source(const Xbyak::Address& address, std::uint32_t bits)
      : kind_(Kind::constant), address_(address), bits_(bits) {}

  bool is_reg() const { return kind_ == Kind::reg; }
  bool is_constant() const { return kind_ == Kind::constant; }
  const Vec& reg() const { return reg_; }
  std::uint32_t bits() const { return bits_; }
  operator const Xbyak::Operand&() const {
    return is_reg() ? static_cast<const Xbyak::Operand&>(reg_) : address_;
  }

 private:
  enum class Kind : std::uint8_t { reg, memory, constant } kind_;
  Vec reg_;
  Xbyak::Address address_{0};
  std::uint32_t bits_ = 0;
};

/// Comparison predicates; all are quiet. Names as in the instruction set manual.
enum class Compare : std::uint8_t {
  eq = 0x00,
  unord = 0x03,
  neq_unord = 0x04,
  lt = 0x11,
  le = 0x12,
  nle_unord = 0x16,
  ge = 0x1d,
  gt = 0x1e
};

/// [base + index * 2^shift + displacement], by the numbers of 64-bit registers, as operands in
/// memory mostly are: cheaper to make and to encode than an Xbyak::Address.
struct Near {
  std::int32_t displacement = 0;
  std::int8_t base = 0, index = -1;  ///< -1: there is none
  std::uint8_t shift = 0;

  Near() = default;
  Near(int base_number, std::int32_t bytes, int index_number = -1, int index_shift = 0)
      : displacement(bytes),
        base(static_cast<std::int8_t>(base_number)),
        index(static_cast<std::int8_t>(index_number)),
        shift(static_cast<std::uint8_t>(index_shift)) {}
  operator Xbyak::Address() const {
    const Xbyak::RegExp at = Xbyak::Reg64(base) + displacement;
    return Xbyak::util::ptr[index < 0 ? at : at + Xbyak::Reg64(index) * (1 << shift)];
  }
};

/// An instruction in whole registers of 512 or 256 bits, by the numbers of its operands.
struct VectorInstruction {
  std::uint8_t map, prefix, opcode;
  std::uint8_t bytes;  ///< that it reads or writes of memory
  std::uint8_t d = 0;
  std::int8_t source = -1;                 ///< between the other two; -1: there is none
  bool is_ymm = false;                     ///< of 256 bits, and encoded for AVX2
  bool memory = false, broadcast = false;  ///< of the last operand
  std::uint8_t last = 0;                   ///< its register
  Near at = {};                            ///< or its place in memory
};

/// Position-independent vector machine code for one instruction set: registers, stack frame,
/// constants behind the code, and the few operations that AVX2 and AVX-512 spell differently.
/// Operations that both have under one name are used directly from Xbyak.
class VectorCode : public Xbyak::CodeGenerator {
 public:
  explicit VectorCode(Isa isa);

  bool is_avx512() const { return isa_ == Isa::avx512; }
  int lanes() const { return lanes_of(isa_); }
  int bytes() const { return 4 * lanes(); }
  Vec vec(int index) const {
    if (is_avx512()) return Xbyak::Zmm(index);
    return Xbyak::Ymm(index);
  }
  static int count(Isa isa) { return isa == Isa::avx512 ? 32 : 16; }
  /// The lower half of a register: 16-bit lanes, or f64 before widening.
  Vec half(const Vec& v) const;

  RegisterPool& vectors() { return vectors_; }
  RegisterPool& masks() { return masks_; }

  // Constants lie behind the code, each once. On AVX-512 they are embedded broadcasts, so they fit
  // arithmetic instructions only; `load` and `move` work everywhere.
  Source bits(std::uint32_t value);
  Source constant(float value) { return bits(std::bit_cast<std::uint32_t>(value)); }
  /// d = table[index % 16], lane by lane; AVX-512 only.
  using Table = std::array<float, 16>;
  void look_up(const Vec& d, const Vec& index, const Table& table);
  /// d = those integers; AVX-512 only.
  using Lanes = std::array<std::uint32_t, 16>;
  void load_lanes(const Vec& d, const Lanes& lanes);
  Xbyak::Address constant64(double value) { return pooled(std::bit_cast<std::uint64_t>(value), 8); }
  /// Four-byte constants by how often the code so far uses them, most often first.
  std::vector<std::uint32_t> used_constants() const;
  /// Loads a constant into a register of its own, which serves it from here on.
  void hoist(std::uint32_t value);
  /// Constants come from memory again. Their registers are for the caller to give back.
  void drop_hoisted() { hoisted_.clear(); }
  void load(const Vec& d, float value);
  void load_bits(const Vec& d, std::uint32_t value);
  void load64(const Vec& d, double value);
  void move(const Vec& d, const Source& source);

  // Stack frame: 8-byte words at the bottom, then whole vectors. Words are reserved before the
  // first vector slot is taken; the frame's size is filled in by finish().
  void enter();
  void leave();
  Xbyak::Address stack_word(int index) { return qword[rsp + 8 * index]; }
  int reserve_words(int count);
  int take_slot();
  int take_slots(int count);  ///< neighbours; the first one
  void give_slot(int slot) { free_slots_.push_back(slot); }
  Near slot(int index) const { return {Xbyak::Operand::RSP, slots_offset_ + bytes() * index}; }

  // What kernels are mostly made of, encoded here where it is in whole registers (encoding.cpp): in
  // a fifth of the time that Xbyak takes, to the same bytes. Anything else goes to Xbyak.
  void vaddps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vaddps(const Vec& d, const Vec& a, const Source& b);
  void vsubps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vsubps(const Vec& d, const Vec& a, const Source& b);
  void vmulps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vmulps(const Vec& d, const Vec& a, const Source& b);
  void vminps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vminps(const Vec& d, const Vec& a, const Source& b);
  void vmaxps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vmaxps(const Vec& d, const Vec& a, const Source& b);
  void vfmadd132ps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vfmadd132ps(const Vec& d, const Vec& a, const Source& b);
  void vfmadd213ps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vfmadd213ps(const Vec& d, const Vec& a, const Source& b);
  void vfmadd231ps(const Vec& d, const Vec& a, const Xbyak::Operand& b);
  void vfmadd231ps(const Vec& d, const Vec& a, const Source& b);
  void vmovups(const Vec& d, const Xbyak::Operand& from);
  void vmovups(const Xbyak::Address& to, const Vec& from);
  void vmovaps(const Vec& d, const Xbyak::Operand& from);
  void vmovaps(const Xbyak::Address& to, const Vec& from);
  void vbroadcastss(const Vec& d, const Xbyak::Operand& from);
  void vmovntps(const Xbyak::Address& to, const Vec& from);
  void prefetcht0(const Xbyak::Address& at);
  void prefetcht1(const Xbyak::Address& at);
  void prefetchw(const Xbyak::Address& at);
  // In whole registers of the set, by their numbers.
  void vaddps(int d, int a, Near b);
  void vfmadd231ps(int d, int a, int b);
  void vfmadd231ps(int d, int a, Near b);
  void vmovups(int d, Near from);
  void vmovups(Near to, int from);
  void vbroadcastss(int d, Near from);
  void prefetcht0(Near at);
  void prefetcht1(Near at);
  void prefetchw(Near at);
  /// Zero in all lanes, by vxorps of the xmm register: that clears the rest.
  void clear(int reg);
  /// A jump over the code up to land(), at a tenth of what a label takes.
  enum class If : std::uint8_t { above_or_equal = 0x83, equal = 0x84 };
  struct Forward {
    std::size_t end;  ///< of the instruction
  };
  Forward jump_forward(If condition);
  void land(Forward jump);
  /// Emits an instruction again, perhaps with other operands.
  void put(const VectorInstruction& instruction);
  /// Notes instructions down from here on.
  void record();
  /// Those since then, unless there were others besides that put() cannot emit.
  std::optional<std::vector<VectorInstruction>> recorded();

  /// x * 2^n for integral n in f32; over- and underflow as one multiplication. n is clobbered.
  void scale(const Vec& x, const Vec& n);
  /// d = 1 / b to about one ulp, or 0 below the normal range; b must not be 0 or infinite, and is
  /// clobbered. A division takes 16 cycles of a unit that does nothing else meanwhile.
  void reciprocal(const Vec& d, const Vec& b);
  void round_to_integer(const Vec& d, const Source& a);
  /// d = c[0] + c[1] x + ... + c[n-1] x^(n-1). Long ones as even and odd halves in x^2, which are
  /// independent of each other: most functions wait for their polynomial.
  void polynomial(const Vec& d, const Vec& x, const float* c, int n);
  template <std::size_t N>
  void polynomial(const Vec& d, const Vec& x, const float (&c)[N]) {
    polynomial(d, x, c, static_cast<int>(N));
  }

  /// The finished code with its constants.
  std::vector<std::byte> finish();

 private:
  /// A constant behind the code.
  struct Pooled {
    std::optional<Xbyak::Label> label;
    SmallVector<std::size_t, 2> ends;  ///< of instructions that end with how far it is
  };
  void put_evex(const VectorInstruction& instruction);
  void put_vex(const VectorInstruction& instruction);
  bool encode(VectorInstruction instruction, const Vec& d, int source, const Xbyak::Operand& from);
  bool encode_three(const VectorInstruction& instruction, const Vec& d, const Vec& a,
                    const Xbyak::Operand& b);
  bool encode_three(const VectorInstruction& instruction, const Vec& d, const Vec& a,
                    const Source& b);
  // Of a constant, whose place is written over the last four bytes later: cheaper than a label.
  void put_behind(VectorInstruction instruction, std::uint32_t value);
  void put_load(int d, std::uint32_t value);
  void put_near(VectorInstruction instruction, int d, int source, Near at);
  bool encode_prefetch(std::uint8_t opcode, unsigned field, const Xbyak::Address& at);
  void put_prefetch(std::uint8_t opcode, unsigned field, Near at);
  std::uint8_t* room();
  void horner(const Vec& d, const Vec& x, const float* c, int n, int step);
  Xbyak::Address pooled(std::uint64_t value, int size);
  void ends_with(std::uint64_t value, int size);
  void emit_pool();

  Isa isa_;
  RegisterPool vectors_, masks_;
  std::map<std::pair<int, std::uint64_t>, Pooled> pool_;  ///< by size and bits
  std::map<Lanes, Xbyak::Label> tables_;
  SmallMap<std::uint32_t, int, 32> uses_;
  SmallMap<std::uint32_t, int, 32> hoisted_;  ///< registers
  int words_ = 0, slots_ = 0, slots_offset_ = 0;
  std::vector<int> free_slots_;
  std::size_t frame_patch_ = 0;
  struct Recording {
    std::vector<VectorInstruction> instructions;
    std::size_t end = 0;  ///< of the last, if nothing else came between
    bool complete = true;
  };
  std::optional<Recording> recording_;
};

/// A register of the pool for the length of a scope.
class Temp : public Vec {
 public:
  explicit Temp(VectorCode& code) : Vec(code.vec(code.vectors().take())), code_(code) {}
  ~Temp() { code_.vectors().give(getIdx()); }
  Temp(const Temp&) = delete;
  Temp& operator=(const Temp&) = delete;

 private:
  VectorCode& code_;
};

/// The outcome of a comparison per lane: an opmask on AVX-512, a vector register on AVX2.
class Mask {
 public:
  explicit Mask(VectorCode& code);
  ~Mask();
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;

  void compare(const Vec& a, const Source& b, Compare predicate);
  void both(const Mask& a, const Mask& b);        ///< a & b
  void only_first(const Mask& a, const Mask& b);  ///< a & ~b
  /// d = mask ? on_true : d
  void blend(const Vec& d, const Source& on_true) const;

 private:
  Vec vec() const { return code_.vec(index_); }
  Xbyak::Opmask k() const { return Xbyak::Opmask(index_); }

  VectorCode& code_;
  int index_;
};

}  // namespace fuseplan::cpu
