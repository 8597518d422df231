// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// Instruction sets kernels are written for, each containing the ones before it.
///   portable  what the compiler emits for the baseline of the build
///   avx2      AVX2 + FMA + F16C
///   avx512    AVX-512 F, BW, DQ, VL + FMA + F16C
enum class Isa { portable, avx2, avx512 };

const char* name_of(Isa isa);

/// What a caller may allow at most: a set with its extensions, but AVX-VNNI, which goes with AVX2,
/// and the tiles of AMX, which go with AVX-512, stand above their sets.
enum class IsaLimit { portable, avx2, avx2_vnni, avx512, amx };

const char* name_of(IsaLimit limit);
std::optional<IsaLimit> parse_isa_limit(std::string_view name);

/// The highest set this CPU and operating system support. FUSEPLAN_MAX_ISA has no effect here; a
/// handle applies its limit.
Isa host_isa();

/// What the processor calls itself; empty where it does not say.
std::string host_name();

/// The line of processors whose shipped tuning table (db/tuning) fits, or "generic":
///   zen4  AMD family 0x19, models 0x10-0x1f, 0x60-0x7f and 0xa0-0xaf: 512-bit vectors run as two
///         halves, 32 KB first-level and 1 MB second-level data cache a core
///   zen5  AMD family 0x1a, models 0x00-0x1f, 0x40-0x4f and 0x70-0x77: two units for 512-bit
///         vectors, 48 KB and 1 MB, and a near third level
///   sapphire  Intel's cores with AVX512_FP16, family 6, models 0x8f, 0xcf, 0xad and 0xae
///         (Sapphire, Emerald and Granite Rapids): two units for 512-bit vectors, 48 KB and 2 MB,
///         and behind them a large third level that is far away; where AMX is not to be had
///   sapphire_amx  the same, with AMX tiles that this process may use
/// It chooses among kernels that are all right, and is no part of their keys.
std::string_view host_family();
/// The same line where AMX is not to be had.
std::string_view family_without_tiles(std::string_view family);

/// Cycles that lines take longer where input and output together are more than caches keep from
/// call to call.
struct FarLines {
  double bytes = 13e6;  ///< that are more
  double plane = 0;     ///< those of a plane that a tile reads as vectors, together
  double staged = 0;    ///< one of planes that Strassen's sums of pixels are made of
  double pixel = 0;     ///< one of pixels in NHWC, that Strassen's sums are made of or end in
  double strided = 0;   ///< the same, where a stride skips the next
  double crowded = 0;   ///< one stored in a burst of many runs
};

/// How much longer 1x1 convolutions take of planes of fewer than 64 pixels that begin anywhere in a
/// line, where channels are in vectors.
struct ShortPlanes {
  double in_place = 1;  ///< read where they lie; copied they do not
  double halves = 1;    ///< by Strassen's products
};

/// Weights that kernels ask for before they read them, during the calls before or some KB ahead:
/// bytes a cycle, of up to so many. More come as they do unasked.
struct AskedWeights {
  double bytes = 20e6, rate = 12;
};

/// What estimates of time reckon with, for one core and the vectors of an instruction set; as it
/// stands, of a core that is not known, in its widest.
struct CoreRates {
  double product = 0.55;              ///< cycles of a multiply-add of vectors
  double half_vector = 0.5;           ///< of it, that one of half a 512-bit vector takes
  double scalar_load = 1;             ///< how many of them a load into all lanes takes
  double plane_load = 1;              ///< and one of a line of pixels, of planes that lie apart
  double line_crossing = 1;           ///< how much longer tiles take of planes across lines
  double plane_stall = 1.3;           ///< how much longer tiles of AVX2 take with scalars there
  double addition = 1;                ///< and an addition among them
  double turned_store = 7;            ///< and the turning and storing of a vector of sums
  double far_turned_store = 7;        ///< the same, of an output that no second-level cache keeps
  double transform = 5;               ///< cycles in which others load, turn and store such a vector
  double staging = 1;                 ///< of what sums of input take to be made on a Zen 4
  double crowded_sum = 0;             ///< cycles of one more than 56 that are stored at once
  double first_level_ways = 8;        ///< lines that lie a multiple of 4 KB apart and fit
  double second_level_bytes = 512e3;  ///< what of it a stream of weights has for itself
  double second_level = 32;           ///< bytes a cycle
  double third_level_bytes = 20e6, third_level = 12;
  double behind = 6;
  AskedWeights asked_weights = {};
  FarLines far = {};
  ShortPlanes short_planes = {};
  /// Bytes of weights that kernels ask the caches for before they read them, where these come from
  /// behind the second level.
  std::int64_t weights_ahead = 4096;

  /// Whether the third level is so much nearer than memory that output is worth keeping there, and
  /// lines of many pages come from it without being asked for in order.
  bool third_level_is_near() const { return third_level >= 2 * behind; }
  /// Whether lines come from it as fast as from the second level, if they are asked for.
  bool third_level_keeps_up() const { return third_level >= second_level; }
};
/// Of a line of processors; "generic" is meant for any.
const CoreRates& core_rates(std::string_view family, Isa isa = Isa::avx512);
struct CpuModel {
  bool amd = false;
  unsigned family = 0, model = 0;
  bool half_arithmetic = false;  ///< AVX512_FP16
  bool tiles = false;            ///< AMX with bf16
};
std::string_view family_of(const CpuModel& cpu);

/// What some kernels use beyond AVX2 or AVX-512, where a CPU has it.
struct Extensions {
  bool bf16 = false;  ///< AVX512_BF16: vdpbf16ps, vcvtneps2bf16
  /// vdpbf16ps sums products faster than f32 multiply-adds do. It chooses among kernels that are
  /// all right, and is no part of their keys.
  bool fast_bf16 = false;
  bool vnni = false;  ///< AVX512_VNNI: vpdpbusd in the registers of AVX-512
  /// AMX tiles that the operating system lets this process use: tdpbf16ps; tdpbusd and its like.
  bool tiles_bf16 = false, tiles_int8 = false;
  bool avx_vnni = false;  ///< vpdpbusd in the registers of AVX2

  /// Whether kernels of that set may use vpdpbusd.
  bool has_vnni(Isa isa) const { return isa == Isa::avx512 ? vnni : isa == Isa::avx2 && avx_vnni; }
};
Extensions host_extensions();
Isa limited(Isa isa, IsaLimit limit);
Extensions limited(Extensions extensions, IsaLimit limit);

/// What code is generated for.
struct Target {
  Isa isa = Isa::portable;
  Extensions extensions = {};
  Target(Isa set = Isa::portable, const Extensions& beyond = {}) : isa(set), extensions(beyond) {}
};

/// Lanes of f32 in a vector: 1, 8, 16.
constexpr int lanes_of(Isa isa) { return isa == Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 1; }

}  // namespace fuseplan::cpu
