// SPDX-License-Identifier: MIT
// The driver's functions that make tensor maps, with what its manual demands of their arguments.
#include "fake_tensor_map.hpp"

#include <algorithm>
#include <cstring>

#include "state.hpp"

namespace fuseplan::emulator {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1;
constexpr int kHalf = 6, kBFloat16 = 9, kTFloat32 = 11, kNoInterleave = 0, kSwizzle128 = 3,
              kFillWithZeros = 0;
constexpr unsigned kSwizzled = 128;  // bytes

/// What both functions are told. Only what kernels here need: 16-bit types and tf32, rows of 128
/// bytes.
struct Told {
  void* map;
  int type;
  unsigned rank;
  void* base;
  const std::uint64_t *lengths, *strides;
  const std::uint32_t* steps;
  int interleave, swizzle, fill;
};

bool is_allowed(const Told& told) {
  if (reinterpret_cast<std::uintptr_t>(told.map) % 64 != 0 ||
      reinterpret_cast<std::uintptr_t>(told.base) % 16 != 0)
    return false;
  if (told.type != kHalf && told.type != kBFloat16 && told.type != kTFloat32) return false;
  if (told.interleave != kNoInterleave || told.swizzle != kSwizzle128 ||
      told.fill != kFillWithZeros)
    return false;
  std::uint64_t before = 16;
  for (unsigned axis = 0; axis < told.rank; ++axis) {
    if (told.lengths[axis] == 0 || told.lengths[axis] > std::uint64_t{1} << 32) return false;
    if (told.steps[axis] == 0 || told.steps[axis] > 8) return false;
    if (axis + 1 == told.rank) break;
    if (told.strides[axis] % before != 0 || told.strides[axis] >= std::uint64_t{1} << 40 ||
        told.strides[axis] == 0)
      return false;
    before = told.strides[axis];
  }
  return true;
}

FakeTensorMap map_of(const Told& told) {
  FakeTensorMap map{};
  map.magic = FakeTensorMap::kMagic;
  map.rank = static_cast<std::uint8_t>(told.rank);
  map.tf32 = told.type == kTFloat32;
  map.element_bytes = map.tf32 != 0 ? 4 : 2;
  map.base = reinterpret_cast<std::uintptr_t>(told.base);
  for (unsigned axis = 0; axis < told.rank; ++axis) {
    map.length[axis] = static_cast<std::uint32_t>(told.lengths[axis]);
    map.steps[axis] = static_cast<std::uint8_t>(told.steps[axis]);
    map.box[axis] = 1;
    if (axis + 1 < told.rank) map.stride[axis] = told.strides[axis];
  }
  return map;
}

/// Counted as a call of the driver, which may be the one that fails.
int enter() {
  const std::lock_guard lock(state().mutex);
  ++state().counters.calls;
  return fails_now() ? state().failure : kSuccess;
}

}  // namespace

extern "C" {
FUSEPLAN_EMULATOR_API int cuTensorMapEncodeTiled(void* to, int type, unsigned rank, void* base,
                                                 const std::uint64_t* lengths,
                                                 const std::uint64_t* strides,
                                                 const std::uint32_t* box,
                                                 const std::uint32_t* steps, int interleave,
                                                 int swizzle, int /*promotion*/, int fill) {
  const Told told{to, type, rank, base, lengths, strides, steps, interleave, swizzle, fill};
  if (rank < 1 || rank > 4 || !is_allowed(told)) return kInvalidValue;
  FakeTensorMap map = map_of(told);
  const unsigned row = box[0] * map.element_bytes;
  if (row > kSwizzled || row % 16 != 0) return kInvalidValue;
  for (unsigned axis = 0; axis < rank; ++axis) {
    // Steps would make boxes smaller; no kernel here uses them so.
    if (box[axis] < 1 || box[axis] > 256 || steps[axis] != 1) return kInvalidValue;
    map.box[axis] = static_cast<std::uint16_t>(box[axis]);
  }
  std::memcpy(to, &map, sizeof map);
  return enter();
}

FUSEPLAN_EMULATOR_API int cuTensorMapEncodeIm2col(void* to, int type, unsigned rank, void* base,
                                                  const std::uint64_t* lengths,
                                                  const std::uint64_t* strides, const int* lower,
                                                  const int* upper, std::uint32_t channels,
                                                  std::uint32_t pixels, const std::uint32_t* steps,
                                                  int interleave, int swizzle, int /*promotion*/,
                                                  int fill) {
  const Told told{to, type, rank, base, lengths, strides, steps, interleave, swizzle, fill};
  if (rank != 4 || !is_allowed(told) || channels == 0 || pixels == 0 || pixels > 1024)
    return kInvalidValue;
  FakeTensorMap map = map_of(told);
  if (channels * map.element_bytes > kSwizzled) return kInvalidValue;
  map.im2col = 1;
  map.box[0] = static_cast<std::uint16_t>(channels);
  map.box[1] = static_cast<std::uint16_t>(pixels);
  for (unsigned axis = 0; axis < 2; ++axis) {
    const auto length = static_cast<int>(lengths[axis + 1]);
    if (std::min(lower[axis], upper[axis]) < -128 || std::max(lower[axis], upper[axis]) > 127 ||
        lower[axis] > length - 1 + upper[axis])
      return kInvalidValue;
    map.lower[axis] = static_cast<std::int8_t>(lower[axis]);
    map.upper[axis] = static_cast<std::int8_t>(upper[axis]);
  }
  std::memcpy(to, &map, sizeof map);
  return enter();
}
}  // extern "C"

}  // namespace fuseplan::emulator
