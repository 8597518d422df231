// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/math_table.hpp"

#include <bit>
#include <cstdint>
#include <iterator>

namespace fuseplan::cpu {
namespace {

using Table = VectorCode::Table;

// f(t) / t around the middles of 16 intervals of t, powers of t - middle; see odd_sigmoid. Fits at
// Chebyshev points, relative error below 2^-26.
constexpr Table kTanh[] = {
    {{0x1.5b74fcp-1f, 0x1.136b6ap-1f, 0x1.bd1c4ep-2f, 0x1.71551ep-2f, 0x1.2409dp-2f, 0x1.c6ffb2p-3f,
      0x1.7459e8p-3f, 0x1.3b1354p-3f, 0x1.fffff8p-4f, 0x1.99999ep-4f, 0x0p+0f, 0x0p+0f,
      0x1.fd5992p-1f, 0x1.e946fep-1f, 0x1.c653fep-1f, 0x1.9be2a6p-1f}},
    {{-0x1.463726p-2f, -0x1.f05678p-3f, -0x1.64175p-3f, -0x1.0087bcp-3f, -0x1.497f46p-4f,
      -0x1.938b84p-5f, -0x1.0eb38ep-5f, -0x1.83c33p-6f, -0x1.ffff8ep-7f, -0x1.47acfcp-7f, 0x0p+0f,
      0x0p+0f, -0x1.511b56p-4f, -0x1.caf816p-3f, -0x1.3f63eep-2f, -0x1.5f05f6p-2f}},
    {{0x1.086eb4p-4f, 0x1.3c797ep-4f, 0x1.de46fap-5f, 0x1.453a28p-5f, 0x1.678e42p-6f,
      0x1.631d24p-7f, 0x1.88f394p-8f, 0x1.dd1054p-9f, 0x1.fffbc6p-10f, 0x1.063ecep-10f, 0x0p+0f,
      0x0p+0f, -0x1.48bbbcp-2f, -0x1.e1dc0ep-3f, -0x1.d895ep-4f, -0x1.cdfa04p-7f}},
    {{0x1.1ed772p-5f, -0x1.0c9f9ap-7f, -0x1.c7d354p-7f, -0x1.5b6668p-7f, -0x1.6dbe62p-8f,
      -0x1.3210c8p-9f, -0x1.1ba5e8p-10f, -0x1.25155cp-11f, -0x1.ffcb7cp-13f, -0x1.a0bf7cp-14f,
      0x0p+0f, 0x0p+0f, 0x1.0890ccp-4f, 0x1.358ffap-3f, 0x1.3fa318p-3f, 0x1.c0f4d4p-4f}},
    {{-0x1.37f276p-5f, -0x1.1ef2d8p-7f, 0x1.720112p-11f, 0x1.063afap-9f, 0x1.484998p-10f,
      0x1.f9dea8p-12f, 0x1.941838p-13f, 0x1.66c644p-14f, 0x1.ff7ba6p-16f, 0x1.647aa6p-17f, 0x0p+0f,
      0x0p+0f, 0x1.efcfe6p-4f, 0x1.7268fp-5f, -0x1.dc81e4p-6f, -0x1.c9019ap-5f}},
    {{0x1.e11caap-7f, 0x1.d64adcp-8f, 0x1.89b2acp-10f, -0x1.8d173ep-16f, -0x1.cd4a0ep-13f,
      -0x1.8871bep-14f, -0x1.1b765p-15f, -0x1.b77d34p-17f, -0x1.064736p-18f, -0x1.5931a8p-21f,
      0x0p+0f, 0x0p+0f, -0x1.341f6cp-5f, -0x1.1f28fp-4f, -0x1.55118ep-5f, -0x1.ebe98p-9f}},
    {{0x1.55562cp-12f, -0x1.7e1c36p-9f, -0x1.02e778p-10f, -0x1.8de83p-13f, 0x1.2f6542p-16f,
      0x1.092e64p-16f, 0x1.76f9bap-18f, 0x1.05e55p-19f, 0x1.04c214p-21f, 0x1.bae084p-23f, 0x0p+0f,
      0x0p+0f, -0x1.6bc6bp-5f, 0x1.756ec8p-9f, 0x1.cd3b14p-6f, 0x1.39953cp-6f}},
};
constexpr Table kErf[] = {
    {{0x1.7a0518p-1f, 0x1.20ac04p-1f, 0x1.c67206p-2f, 0x1.74538p-2f, 0x1.24923ap-2f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.1f5e1ap+0f, 0x1.13e08cp+0f,
      0x1.fe8f16p-1f, 0x1.cacbc2p-1f}},
    {{-0x1.9b12e8p-2f, -0x1.2b07a8p-2f, -0x1.8d7348p-3f, -0x1.0e5896p-3f, -0x1.4e5c6p-4f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, -0x1.7d900cp-4f, -0x1.09ac3cp-2f,
      -0x1.7edef6p-2f, -0x1.b29324p-2f}},
    {{0x1.5aa536p-4f, 0x1.d354a4p-4f, 0x1.4408c8p-4f, 0x1.846d84p-5f, 0x1.7e09fap-6f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, -0x1.766bd2p-2f, -0x1.276ba6p-2f,
      -0x1.5275c6p-3f, -0x1.4574dap-5f}},
    {{0x1.0fbc8p-4f, -0x1.c00b02p-7f, -0x1.a1ebap-6f, -0x1.0a1142p-6f, -0x1.b3c814p-8f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.c5a6a2p-5f, 0x1.24d584p-3f,
      0x1.671b5cp-3f, 0x1.367b36p-3f}},
    {{-0x1.db04cp-5f, -0x1.425b36p-6f, 0x1.760d86p-9f, 0x1.355e72p-8f, 0x1.ecd892p-10f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x1.b4c05ep-4f, 0x1.01ba24p-4f,
      0x1.d2f16cp-10f, -0x1.6f0cf8p-5f}},
    {{0x1.08ec6ap-7f, 0x1.e6fe94p-7f, 0x1.d42fa2p-9f, -0x1.61b632p-11f, -0x1.10b4dep-11f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, -0x1.3ea254p-6f, -0x1.7aafeep-5f,
      -0x1.7cbf9ap-5f, -0x1.a2fecap-6f}},
    {{0x1.4a4d46p-7f, -0x1.b41cfep-9f, -0x1.72e972p-9f, -0x1.7a3a5ap-12f, 0x1.07d0dcp-13f, 0x0p+0f,
      0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, -0x1.915eb2p-6f, -0x1.3845a8p-7f,
      0x1.16b1dcp-7f, 0x1.1bc87ap-6f}},
};

constexpr float kTanhOne = 9.02f;  // from here on tanh rounds to 1
constexpr float kErfOne = 3.99f;   // and the polynomials give 1, so that 1 + erf is 0 below

// 2^(i/16), and how far the rounded value is off, relatively.
constexpr Table kRoots = {{0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f,
                           0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f,
                           0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f,
                           0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f}};
constexpr Table kRootErrors = {
    {0x0p+0f, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f, 0x1.125002p-25f, 0x1.370be4p-25f,
     -0x1.0a355p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
     0x1.a3b5e4p-28f, -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f}};
// The bits of 2^(i/16), less i where kToSixteenths leaves it once its sum is shifted to where the
// exponent is one: added to that sum they are 2^(whole + i/16).
constexpr int kToExponent = 19;
constexpr Table steps_of(Table roots) {
  for (std::uint32_t i = 0; i < roots.size(); ++i)
    roots[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(roots[i]) - (i << kToExponent));
  return roots;
}
constexpr Table kSteps = steps_of(kRoots);
// (2^f - 1) / f on |f| <= 1/32, relative error of 2^f 2^-29.2.
constexpr float kExp2[] = {0x1.62e43p-1f, 0x1.ebfff4p-3f, 0x1.c6ac6ap-5f};
// The same with the error relative to 2^f - 1.
constexpr float kExp2m1[] = {0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6b348p-5f, 0x1.3b2ab6p-7f};
constexpr float kLog2EHigh = 0x1.715476p+0f;
constexpr float kLog2ELow = 0x1.4ae0cp-26f;
// Adding it rounds to a multiple of 1/16, whose sixteenths are the lowest four bits.
constexpr float kToSixteenths = 0x1.8p19f;

/// e^x = 2^whole root (1 + rest)
struct ExpParts {
  const Vec &whole, &root;  ///< of `whole` the floor counts: the exponent
};

/// x becomes `rest`.
template <std::size_t N>
void split_exp(VectorCode& c, const Vec& x, const ExpParts& parts, const float (&exp2m1)[N]) {
  const auto& [whole, root] = parts;
  Temp index(c), p(c);
  c.load(index, kLog2EHigh);
  c.vmovaps(whole, index);
  c.vfmadd213ps(index, x, c.constant(kToSixteenths));
  c.vsubps(p, index, c.constant(kToSixteenths));
  c.vfmsub213ps(whole, x, p);
  c.vfmadd132ps(x, whole, c.constant(kLog2ELow));  // |x| <= 1/32
  c.vmovaps(whole, p);
  c.polynomial(p, x, exp2m1);
  c.look_up(root, index, kRootErrors);
  c.vfmadd213ps(x, p, root);
  c.look_up(root, index, kRoots);
}

/// x = f(x) for an odd f that is 1 from `one` on: x P(|x|), a polynomial for each quarter of an
/// octave of |x| + 1.
template <std::size_t N>
void odd_sigmoid(VectorCode& c, const Vec& x, const Table (&table)[N], float one) {
  Temp t(c), index(c), middle(c);
  // The operand that is NaN must be the second.
  c.load(t, one);
  c.vminps(x, t, x);
  c.load(t, -one);
  c.vmaxps(x, t, x);
  c.load_bits(t, 0x7fffffffu);
  c.vandps(t, t, x);
  c.vaddps(index, t, c.constant(1.0f));
  // Two bits of the exponent, which is 0 to 3, and two of the significand.
  constexpr int kIndexShift = 21;
  constexpr std::uint32_t kIndexBits = 0xffffffffu << kIndexShift;
  constexpr std::uint32_t kMiddleBit = 1u << (kIndexShift - 1);
  constexpr int kAndOr = 0xea;
  c.load_bits(middle, kIndexBits);
  c.vpternlogd(middle, index, c.bits(kMiddleBit), kAndOr);
  c.vsubps(middle, middle, c.constant(1.0f));
  c.vpsrld(index, index, kIndexShift);
  c.vsubps(t, t, middle);
  Temp p(c);
  c.look_up(p, index, table[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) {
    c.look_up(middle, index, table[i]);
    c.vfmadd213ps(p, t, middle);
  }
  c.vmulps(x, x, p);
}

}  // namespace

void emit_exp_by_table(VectorCode& c, const Vec& x) {
  Temp whole(c), root(c);
  split_exp(c, x, {whole, root}, kExp2);
  c.vfmadd213ps(x, root, root);
  c.vscalefps(x, x, whole);
}

namespace {

/// x = 1 / (1 + 2^(whole + rest)) for a power in the range of normal numbers, or just below, where
/// it counts as 0. `index` is `whole` plus kToSixteenths and gets lost; x is `rest`, or its
/// negative with the signs of kExp2 to match.
void logistic_of_parts(VectorCode& c, const Vec& x, const Vec& index, const float (&exp2m1)[3]) {
  {
    Temp p(c), power(c);
    c.polynomial(p, x, exp2m1);
    c.look_up(power, index, kRootErrors);
    c.vfmadd213ps(x, p, power);
    c.look_up(power, index, kSteps);
    c.vpslld(index, index, kToExponent);
    c.vpaddd(power, power, index);
    c.vfmadd213ps(x, power, power);
  }
  c.vaddps(x, x, c.constant(1.0f));
  c.reciprocal(x, x);
}

}  // namespace

void emit_logistic_by_table(VectorCode& c, const Vec& x) {
  Temp index(c);
  c.load(index, kLog2EHigh);
  {
    Temp whole(c), rest(c);
    c.vmovaps(rest, index);
    c.vfnmadd213ps(index, x, c.constant(kToSixteenths));
    c.vsubps(whole, index, c.constant(kToSixteenths));
    c.vfnmsub213ps(rest, x, whole);
    c.vfmadd132ps(x, rest, c.constant(-kLog2ELow));
  }
  logistic_of_parts(c, x, index, kExp2);
}

void emit_logistic2_by_table(VectorCode& c, const Vec& x) {
  constexpr float kOfNegative[] = {-kExp2[0], kExp2[1], -kExp2[2]};
  Temp index(c);
  c.load(index, kToSixteenths);
  c.vsubps(index, index, x);
  {
    Temp whole(c);
    c.vsubps(whole, index, c.constant(kToSixteenths));
    c.vaddps(x, x, whole);
  }
  logistic_of_parts(c, x, index, kOfNegative);
}

// In terms of 2^(whole - 1), so that 128 stays in range.
void emit_expm1_by_table(VectorCode& c, const Vec& x) {
  Temp whole(c), root(c);
  split_exp(c, x, {whole, root}, kExp2m1);
  c.vsubps(whole, whole, c.constant(1.0f));
  c.vscalefps(root, root, whole);
  c.vsubps(whole, root, c.constant(0.5f));
  c.vaddps(x, x, x);
  c.vfmadd213ps(x, root, whole);
  c.vaddps(x, x, whole);
}

void emit_tanh_by_table(VectorCode& c, const Vec& x) { odd_sigmoid(c, x, kTanh, kTanhOne); }

void emit_erf_by_table(VectorCode& c, const Vec& x) { odd_sigmoid(c, x, kErf, kErfOne); }

}  // namespace fuseplan::cpu
