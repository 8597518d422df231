// SPDX-License-Identifier: MIT
// What VectorCode encodes itself against what Xbyak makes of the same instruction.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "kernels/cpu/emit/vector_code.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

/// The same call on both; bytes of the instruction alone.
template <typename Emit>
std::vector<std::byte> ours(const Emit& emit, cpu::Isa isa = cpu::Isa::avx512) {
  cpu::VectorCode code(isa);
  emit(code);
  std::vector<std::byte> bytes(code.getSize());
  std::memcpy(bytes.data(), code.getCode(), bytes.size());
  return bytes;
}
template <typename Emit>
std::vector<std::byte> xbyaks(const Emit& emit) {
  Xbyak::CodeGenerator code(1 << 20);
  emit(code);
  std::vector<std::byte> bytes(code.getSize());
  std::memcpy(bytes.data(), code.getCode(), bytes.size());
  return bytes;
}
template <typename Emit>
bool agree(const Emit& emit) {
  const auto expected = xbyaks(emit);
  return !expected.empty() && ours(emit) == expected;
}

// Every instruction, each as a generic call: it reaches VectorCode's or Xbyak's.
#define FUSEPLAN_THREE(name) \
  [](auto& code, const Xmm& d, const Xmm& a, const auto& b) { code.name(d, a, b); }
template <typename Visit>
void each_of_three(const Visit& visit) {
  visit("vaddps", FUSEPLAN_THREE(vaddps));
  visit("vsubps", FUSEPLAN_THREE(vsubps));
  visit("vmulps", FUSEPLAN_THREE(vmulps));
  visit("vminps", FUSEPLAN_THREE(vminps));
  visit("vmaxps", FUSEPLAN_THREE(vmaxps));
  visit("vfmadd132ps", FUSEPLAN_THREE(vfmadd132ps));
  visit("vfmadd213ps", FUSEPLAN_THREE(vfmadd213ps));
  visit("vfmadd231ps", FUSEPLAN_THREE(vfmadd231ps));
}
#undef FUSEPLAN_THREE

/// Displacements at the edges of one byte in units of 4 and of 64, and between.
constexpr int kDisplacements[] = {0,    1,    4,    -4,   60,   64,    -64,   508,       512,
                                  -512, -516, 8128, 8132, 8192, -8192, -8256, 0x12340,   -0x12345,
                                  127,  -128, 128,  2,    -1,   16,    32,    0x7fffffc0};

Address memory(int base, int displacement, bool broadcast) {
  const Xbyak::RegExp at = Xbyak::Reg64(base) + displacement;
  return broadcast ? Xbyak::util::ptr_b[at] : Xbyak::util::ptr[at];
}

/// Of 512 bits, and of 256: the upper ones of these only AVX-512 has.
template <typename Reg>
class EmitEncodingOf : public ::testing::Test {};
using Registers = ::testing::Types<Zmm, Ymm>;
TYPED_TEST_SUITE(EmitEncodingOf, Registers);

TYPED_TEST(EmitEncodingOf, AllRegisters) {
  using Reg = TypeParam;
  each_of_three([](const char* name, const auto& instruction) {
    EXPECT_TRUE(agree([&](auto& code) {
      for (int d = 0; d < 32; ++d)
        for (int a = 0; a < 32; ++a)
          for (int b = 0; b < 32; ++b) instruction(code, Reg(d), Reg(a), Reg(b));
    })) << name;
  });
}

TYPED_TEST(EmitEncodingOf, AllBasesAndDisplacements) {
  using Reg = TypeParam;
  Random random;
  each_of_three([&](const char* name, const auto& instruction) {
    for (int base = 0; base < 16; ++base)
      for (const int displacement : kDisplacements)
        for (const bool broadcast : {false, true}) {
          const int d = static_cast<int>(random.between(0, 31));
          const int a = static_cast<int>(random.between(0, 31));
          const Address from = memory(base, displacement, broadcast);
          ASSERT_TRUE(agree([&](auto& code) { instruction(code, Reg(d), Reg(a), from); }))
              << name << " " << Reg(d).toString() << ", " << Reg(a).toString() << ", [r" << base
              << " + " << displacement << "]" << (broadcast ? " to all lanes" : "");
        }
  });
}

TYPED_TEST(EmitEncodingOf, Moves) {
  using Reg = TypeParam;
  for (int d = 0; d < 32; ++d)
    for (int from = 0; from < 32; ++from) {
      const auto all = [&](auto& code) {
        code.vmovups(Reg(d), Reg(from));
        code.vmovaps(Reg(d), Reg(from));
      };
      EXPECT_TRUE(agree(all)) << Reg(d).toString() << ", " << Reg(from).toString();
    }
}

// A constant's place is written over four bytes of zeros at the end.
TEST(EmitEncoding, LoadsOfConstants) {
  using namespace Xbyak::util;
  for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::avx2})
    for (int d = 0; d < cpu::VectorCode::count(isa); ++d)
      EXPECT_EQ(ours([&](auto& code) { code.load(code.vec(d), 1.5f); }, isa),
                xbyaks([&](auto& code) {
                  isa == cpu::Isa::avx512 ? code.vbroadcastss(Zmm(d), ptr[rip])
                                          : code.vmovaps(Ymm(d), ptr[rip]);
                }))
          << cpu::name_of(isa) << " " << d;
}

/// `source` as an operand that Xbyak finds by a label, or as the constant it is.
template <bool by_label>
std::vector<std::byte> with_constants(cpu::Isa isa) {
  cpu::VectorCode code(isa);
  const int last = cpu::VectorCode::count(isa) - 1;
  for (const float value : {0.25f, -3.0f, 0.25f})
    for (int d = 0; d <= last; ++d) {
      const cpu::Source source = code.constant(value);
      each_of_three([&](const char*, const auto& instruction) {
        const auto emit = [&](const auto& b) {
          instruction(code, code.vec(d), code.vec(last - d), b);
        };
        by_label ? emit(static_cast<const Operand&>(source)) : emit(source);
      });
    }
  return code.finish();
}

TEST(EmitEncoding, ConstantsAsOperands) {
  for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::avx2}) {
    const std::vector<std::byte> code = with_constants<false>(isa);
    EXPECT_GT(code.size(), 1000u);
    EXPECT_EQ(code, with_constants<true>(isa)) << cpu::name_of(isa);
  }
}

// A jump may be over nothing, or further than one byte says.
TEST(EmitEncoding, JumpsForward) {
  using If = cpu::VectorCode::If;
  for (const If condition : {If::above_or_equal, If::equal})
    for (const int instructions : {0, 1, 60})
      EXPECT_EQ(ours([&](auto& code) {
                  const auto jump = code.jump_forward(condition);
                  for (int i = 0; i < instructions; ++i) code.add(Xbyak::util::r9, 1);
                  code.land(jump);
                }),
                xbyaks([&](auto& code) {
                  Xbyak::Label over;
                  condition == If::equal ? code.je(over, code.T_NEAR) : code.jae(over, code.T_NEAR);
                  for (int i = 0; i < instructions; ++i) code.add(Xbyak::util::r9, 1);
                  code.L(over);
                }));
}

TYPED_TEST(EmitEncodingOf, LoadsAndStores) {
  using Reg = TypeParam;
  for (int reg = 0; reg < 32; reg += 5)
    for (int base = 0; base < 16; ++base)
      for (const int displacement : kDisplacements) {
        const Address at = memory(base, displacement, false);
        const auto dword = Xbyak::util::dword[Xbyak::Reg64(base) + displacement];
        const auto all = [&](auto& code) {
          code.vmovups(Reg(reg), at);
          code.vmovups(at, Reg(reg));
          code.vmovaps(Reg(reg), at);
          code.vmovaps(at, Reg(reg));
          code.vmovntps(at, Reg(reg));
          code.vbroadcastss(Reg(reg), dword);
        };
        EXPECT_TRUE(agree(all)) << reg << " " << base << " " << displacement;
      }
}

/// All places by two registers; rsp is no index.
template <typename Visit>
void each_indexed(const Visit& visit) {
  for (int base = 0; base < 16; ++base)
    for (int index = 0; index < 16; ++index)
      for (int shift = 0; shift < 4; ++shift)
        for (const int displacement : {0, 4, -64, 256, -4096, 0x12344})
          if (index != Operand::RSP) visit(cpu::Near(base, displacement, index, shift));
}

Address indexed(const cpu::Near& at) {
  const Xbyak::RegExp index = Xbyak::Reg64(at.index) * (1 << at.shift);
  return Xbyak::util::ptr[Xbyak::Reg64(at.base) + index + at.displacement];
}

TYPED_TEST(EmitEncodingOf, AllIndices) {
  using Reg = TypeParam;
  Random random;
  each_indexed([&](const cpu::Near& at) {
    const int reg = static_cast<int>(random.between(0, 31));
    const Address place = indexed(at);
    const auto all = [&](auto& code) {
      code.vfmadd231ps(Reg(reg), Reg(31 - reg), place);
      code.vmovups(Reg(reg), place);
      code.vmovups(place, Reg(reg));
      code.prefetcht0(place);
      code.prefetchw(place);
    };
    ASSERT_TRUE(agree(all)) << Reg(reg).toString() << " " << +at.base << " + " << +at.index
                            << " << " << +at.shift << " + " << at.displacement;
  });
}

// Operands by their numbers, in the registers of either set.
TEST(EmitEncoding, NumbersAreWholeRegisters) {
  const auto check = [](const cpu::Near& at) {
    for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::avx2})
      for (int reg = 0; reg < cpu::VectorCode::count(isa); reg += 3) {
        const int other = cpu::VectorCode::count(isa) - 1 - reg;
        const auto by_number = [&](auto& code) {
          code.vaddps(reg, other, at);
          code.vfmadd231ps(reg, other, at);
          code.vfmadd231ps(reg, other, reg / 2);
          code.vmovups(reg, at);
          code.vmovups(at, reg);
          code.vbroadcastss(reg, at);
          code.prefetcht0(at);
          code.prefetcht1(at);
          code.prefetchw(at);
        };
        const auto spelled = [&]<typename Reg>(auto& code, const Address& place) {
          code.vaddps(Reg(reg), Reg(other), place);
          code.vfmadd231ps(Reg(reg), Reg(other), place);
          code.vfmadd231ps(Reg(reg), Reg(other), Reg(reg / 2));
          code.vmovups(Reg(reg), place);
          code.vmovups(place, Reg(reg));
          code.vbroadcastss(Reg(reg), Xbyak::util::dword[place.getRegExp()]);
          code.prefetcht0(place);
          code.prefetcht1(place);
          code.prefetchw(place);
        };
        const Address place = at;
        ASSERT_EQ(ours(by_number, isa), xbyaks([&](auto& code) {
                    isa == cpu::Isa::avx512 ? spelled.template operator()<Zmm>(code, place)
                                            : spelled.template operator()<Ymm>(code, place);
                  }))
            << cpu::name_of(isa) << " " << reg << " " << at.displacement;
      }
  };
  for (int base = 0; base < 16; ++base)
    for (const int displacement : kDisplacements) check({base, displacement});
  each_indexed(check);
}

TEST(EmitEncoding, Prefetches) {
  for (int base = 0; base < 16; ++base)
    for (const int displacement : kDisplacements) {
      const Address at = memory(base, displacement, false);
      const auto all = [&](auto& code) {
        code.prefetcht0(at);
        code.prefetcht1(at);
        code.prefetchw(at);
      };
      EXPECT_TRUE(agree(all)) << base << " " << displacement;
    }
}

TEST(EmitEncoding, Clears) {
  for (int reg = 0; reg < 32; ++reg) {
    const Xbyak::Xmm low(reg);
    EXPECT_EQ(ours([&](auto& code) { code.clear(reg); }),
              xbyaks([&](auto& code) { code.vxorps(low, low, low); }))
        << reg;
  }
}

TEST(EmitEncoding, RepeatsWhatItRecorded) {
  using namespace Xbyak::util;
  const auto instructions = [](auto& code) {
    code.vfmadd213ps(Zmm(9), Zmm(30), ptr_b[r12 - 4]);
    code.vmaxps(Zmm(17), Zmm(0), Zmm(25));
    code.vmovups(Zmm(4), Zmm(31));
    code.vbroadcastss(Zmm(2), dword[rbp + 512]);
    code.vmovups(ptr[rsp + 64], Zmm(11));
    code.vmovntps(ptr[r13], Zmm(0));
    code.vfmadd231ps(Ymm(9), Ymm(15), ptr[r12 - 4]);
    code.vmaxps(Ymm(12), Ymm(0), Ymm(5));
    code.vbroadcastss(Ymm(2), dword[rbp + 512]);
    code.vmovups(ptr[rsp + 64], Ymm(11));
  };
  const auto repeated = [&](auto& code) {
    code.record();
    instructions(code);
    const auto recorded = code.recorded();
    ASSERT_TRUE(recorded.has_value());
    ASSERT_EQ(recorded->size(), 10u);
    for (const auto& instruction : *recorded) code.put(instruction);
  };
  const auto twice = xbyaks([&](auto& code) {
    instructions(code);
    instructions(code);
  });
  EXPECT_EQ(ours(repeated), twice);
}

TEST(EmitEncoding, RecordsNothingThatItCannotRepeat) {
  using namespace Xbyak::util;
  const auto is_recorded = [](const auto& emit) {
    cpu::VectorCode code(cpu::Isa::avx512);
    code.record();
    emit(code);
    return code.recorded().has_value();
  };
  EXPECT_TRUE(is_recorded([](auto& c) { c.vaddps(zmm1, zmm2, zmm3); }));
  EXPECT_FALSE(is_recorded([](auto& c) { c.mov(rax, rcx); })) << "alone";
  EXPECT_FALSE(is_recorded([](auto& c) {
    c.mov(rax, rcx);
    c.vaddps(zmm1, zmm2, zmm3);
  })) << "before";
  EXPECT_FALSE(is_recorded([](auto& c) {
    c.vaddps(zmm1, zmm2, zmm3);
    c.vcvtdq2ps(zmm1, zmm1);
    c.vaddps(zmm1, zmm2, zmm3);
  })) << "between";
  EXPECT_FALSE(is_recorded([](auto& c) {
    c.vaddps(zmm1, zmm2, zmm3);
    c.vaddps(xmm1, xmm2, xmm3);
  })) << "behind";
}

TEST(EmitEncoding, OthersAreXbyaks) {
  using namespace Xbyak::util;
  const Xbyak::Opmask k(3);
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(zmm1 | k, ptr[rax]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(zmm17 | k | c.T_z, ptr[rax + 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(ptr[rax + rcx * 4 + 64] | k, zmm3); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(zmm3, ptr[rax + rcx * 8 - 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(zmm3, ptr[eax + 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(zmm3, ptr[rip + 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovups(xmm3, ptr[rax + 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vaddps(zmm1, zmm2, zmm3 | c.T_rz_sae); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vaddps(zmm1 | k, zmm2, zmm3); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vaddps(ymm1, ymm2, ymm19); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vfmadd231ps(xmm1, xmm2, ptr[rax]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vfmadd231ps(zmm1, zmm2, ptr_b[rax + rdx]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vbroadcastss(zmm1, xmm20); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovntps(ptr[rax + 32], xmm3); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vmovntps(ptr[rax + rcx], zmm3); }));
  EXPECT_TRUE(agree([&](auto& c) { c.prefetchw(ptr[rax + rcx * 8 - 64]); }));
  EXPECT_TRUE(agree([&](auto& c) { c.vbroadcastss(zmm1 | k | c.T_z, dword[rax + 4]); }));
}

TEST(EmitEncoding, GrowsTheBuffer) {
  const auto many = [](auto& code) {
    for (int i = 0; i < 20000; ++i) code.vaddps(Zmm(i % 32), Zmm(i / 32 % 32), Zmm(i / 1024));
  };
  Xbyak::CodeGenerator expected(1 << 20);
  many(expected);
  const auto got = ours(many);
  ASSERT_EQ(got.size(), expected.getSize());
  EXPECT_EQ(std::memcmp(got.data(), expected.getCode(), got.size()), 0);
}

}  // namespace
}  // namespace fuseplan::test
