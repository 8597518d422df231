// SPDX-License-Identifier: MIT
#include "kernels/cpu/isa.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <xbyak/xbyak_util.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace fuseplan::cpu {
namespace {

constexpr const char* kNames[] = {"portable", "avx2", "avx512"};
constexpr const char* kLimits[] = {"portable", "avx2", "avx2_vnni", "avx512", "amx"};
constexpr std::string_view kTiles = "_amx";

#if defined(__x86_64__)
using Xbyak::util::Cpu;

// Read once: virtual machines trap every cpuid instruction, and an object of this class takes
// dozens.
const Cpu& host_cpu() {
  static const Cpu cpu;
  return cpu;
}
#endif

Isa detect() {
#if defined(__x86_64__)
  const Cpu& cpu = host_cpu();
  if (!(cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA) && cpu.has(Cpu::tF16C))) return Isa::portable;
  const bool wide = cpu.has(Cpu::tAVX512F) && cpu.has(Cpu::tAVX512BW) && cpu.has(Cpu::tAVX512DQ) &&
                    cpu.has(Cpu::tAVX512VL);
  return wide ? Isa::avx512 : Isa::avx2;
#else
  return Isa::portable;
#endif
}

struct ModelRange {
  const char* line;
  bool amd;
  unsigned family, first, last;
};
constexpr ModelRange kLines[] = {
    {"zen4", true, 0x19, 0x10, 0x1f},      {"zen4", true, 0x19, 0x60, 0x7f},
    {"zen4", true, 0x19, 0xa0, 0xaf},      {"zen5", true, 0x1a, 0x00, 0x1f},
    {"zen5", true, 0x1a, 0x40, 0x4f},      {"zen5", true, 0x1a, 0x70, 0x77},
    {"sapphire", false, 0x06, 0x8f, 0x8f}, {"sapphire", false, 0x06, 0xad, 0xae},
    {"sapphire", false, 0x06, 0xcf, 0xcf}};

// From timings on one core: of a Zen 4, of a Zen 5, and of an Emerald Rapids. Unknown ones are
// taken for cores of two units of the widest vectors, with caches like the Zen 4's: a tile that
// reads every scalar from memory would cost those a sixth, and gains nothing elsewhere.
//
// Weights ahead: from behind the second level Intel's hardware fetches ahead within a page of 4 KB
// only, and starts anew at the next. 256 to 256 channels at 14 x 14 by Winograd took 1.17 ms there
// without, 0.88 with 1 and 2 KB, 0.80 with 4 and 0.81 with 8. On the Zen 5, 512 to 512 at 7 x 7
// took 865 us without, 705 with 4 KB, 590 with 8, 560 with 12 and 16 and 620 with 24.
constexpr CoreRates kGeneric;
constexpr CoreRates kZen4{.product = 1.1, .scalar_load = 0.5, .addition = 0, .transform = 10};
constexpr CoreRates kZen5{
    .product = 0.52,
    .half_vector = 1,
    .plane_load = 10,
    .plane_stall = 1,
    .addition = 0,
    .turned_store = 16,
    .far_turned_store = 32,
    .staging = 0.4,
    .crowded_sum = 12,
    .first_level_ways = 12,
    .second_level = 34,
    .third_level_bytes = 26e6,
    .third_level = 35,
    .behind = 9,
    .asked_weights = {.bytes = 26e6, .rate = 35},
    .far = {.plane = 14, .staged = 20, .pixel = 2.5, .strided = 28, .crowded = 5},
    .weights_ahead = 16384};
constexpr CoreRates kSapphireCaches{.first_level_ways = 12,
                                    .second_level_bytes = 1.5e6,
                                    .third_level_bytes = 16e6,
                                    .third_level = 6,
                                    .behind = 4.5,
                                    .asked_weights = {.bytes = 40e6, .rate = 9}};

/// What was timed with AVX-512 only.
constexpr CoreRates with_wide_tiles(CoreRates rates) {
  rates.plane_load = 9;
  rates.line_crossing = 1.13;
  rates.turned_store = 14;
  rates.far_turned_store = 24;
  rates.short_planes = {.in_place = 1.03, .halves = 1.08};
  return rates;
}

// Every core with AVX2 has two units for its vectors and two loads a cycle, be they halves of wider
// ones or not.
constexpr CoreRates in_avx2(CoreRates rates) {
  rates.product = CoreRates().product;
  rates.scalar_load = CoreRates().scalar_load;
  rates.transform = CoreRates().transform;
  rates.turned_store = std::max(CoreRates().turned_store, rates.turned_store / 2);
  return rates;
}

struct LineRates {
  std::string_view line;
  CoreRates wide, narrow;
};
constexpr LineRates kRates[] = {
    {"generic", kGeneric, in_avx2(kGeneric)},
    {"zen4", kZen4, in_avx2(kZen4)},
    {"zen5", kZen5, in_avx2(kZen5)},
    {"sapphire", with_wide_tiles(kSapphireCaches), in_avx2(kSapphireCaches)}};

CpuModel host_model() {
#if defined(__x86_64__)
  const Cpu& cpu = host_cpu();
  return {cpu.has(Cpu::tAMD), static_cast<unsigned>(cpu.displayFamily),
          static_cast<unsigned>(cpu.displayModel), cpu.has(Cpu::tAVX512_FP16),
          host_extensions().tiles_bf16};
#else
  return {};
#endif
}

// Linux hands out the state of the tiles (8 KB a thread) only to processes that ask for it, and
// refuses those whose alternative signal stacks could not hold it.
bool may_use_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return host_cpu().has(Cpu::tAMX_TILE) && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
  return false;
#endif
}

// AMD's cores, from the first that has vdpbf16ps (Zen 4) on, issue it at the rate of vfmadd231ps:
// twice the products (measured on Zen 4: 235 against 117 GFLOP/s of one core). Intel's server cores
// were seen at a quarter of that rate (81 against 162 GFLOP/s), their AMX units being meant for it.
Extensions detect_extensions() {
  Extensions extensions;
#if defined(__x86_64__)
  const Cpu& cpu = host_cpu();
  extensions.bf16 = host_isa() == Isa::avx512 && cpu.has(Cpu::tAVX512_BF16);
  extensions.vnni = host_isa() == Isa::avx512 && cpu.has(Cpu::tAVX512_VNNI);
  extensions.avx_vnni = host_isa() != Isa::portable && cpu.has(Cpu::tAVX_VNNI);
  const bool tiles = host_isa() == Isa::avx512 && may_use_tiles();
  extensions.tiles_bf16 = tiles && extensions.bf16 && cpu.has(Cpu::tAMX_BF16);
  extensions.tiles_int8 = tiles && cpu.has(Cpu::tAMX_INT8);
  extensions.fast_bf16 = extensions.bf16 && cpu.has(Cpu::tAMD);
#endif
  return extensions;
}

}  // namespace

std::string_view family_of(const CpuModel& cpu) {
  constexpr std::string_view kIntel = "sapphire";
  std::string_view found = "generic";
  for (const ModelRange& line : kLines)
    if (cpu.amd == line.amd && cpu.family == line.family && cpu.model >= line.first &&
        cpu.model <= line.last)
      found = line.line;
  // Virtual machines may show the number of another model, but not what it cannot do.
  if (!cpu.amd && cpu.half_arithmetic) found = kIntel;
  return found == kIntel && cpu.tiles ? "sapphire_amx" : found;
}

const CoreRates& core_rates(std::string_view family, Isa isa) {
  const auto* found = std::ranges::find(kRates, family_without_tiles(family), &LineRates::line);
  if (found == std::end(kRates)) found = std::begin(kRates);
  return isa == Isa::avx512 ? found->wide : found->narrow;
}

std::string host_name() {
  std::string name;
#if defined(__x86_64__)
  std::uint32_t registers[4];
  Cpu::getCpuid(0x80000000U, registers);
  const bool has_name = registers[0] >= 0x80000004U;
  for (std::uint32_t leaf = 0x80000002U; has_name && leaf <= 0x80000004U; ++leaf) {
    Cpu::getCpuid(leaf, registers);
    name.append(reinterpret_cast<const char*>(registers), sizeof registers);
  }
  name.resize(std::min(name.size(), name.find('\0')));
  name.erase(0, name.find_first_not_of(' '));
  name.resize(name.find_last_not_of(' ') + 1);
#endif
  return name;
}

std::string_view host_family() {
  static const std::string_view family = family_of(host_model());
  return family;
}

std::string_view family_without_tiles(std::string_view family) {
  if (family.ends_with(kTiles)) family.remove_suffix(kTiles.size());
  return family;
}

const char* name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }
const char* name_of(IsaLimit limit) { return kLimits[static_cast<int>(limit)]; }

std::optional<IsaLimit> parse_isa_limit(std::string_view name) {
  const auto* const found = std::ranges::find(kLimits, name);
  if (found == std::end(kLimits)) return std::nullopt;
  return static_cast<IsaLimit>(found - std::begin(kLimits));
}

Isa host_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa limited(Isa isa, IsaLimit limit) {
  if (limit >= IsaLimit::avx512) return isa;
  return std::min(isa, limit >= IsaLimit::avx2 ? Isa::avx2 : Isa::portable);
}

Extensions limited(Extensions extensions, IsaLimit limit) {
  if (limit < IsaLimit::avx2_vnni) return {};
  if (limit < IsaLimit::avx512) return {.avx_vnni = extensions.avx_vnni};
  if (limit < IsaLimit::amx) extensions.tiles_bf16 = extensions.tiles_int8 = false;
  return extensions;
}

Extensions host_extensions() {
  static const Extensions extensions = detect_extensions();
  return extensions;
}

}  // namespace fuseplan::cpu
