// SPDX-License-Identifier: MIT
#include "backend/cuda/tensor_maps.hpp"

#include <cstring>

#include "backend/cuda/driver.hpp"
#include "base/status.hpp"

namespace fuseplan::cuda {
namespace {

using gpu::TensorMap;

// CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
// CUtensorMapFloatOOBfill
constexpr int kHalf = 6, kBFloat16 = 9, kTFloat32 = 11;
constexpr int kNoInterleave = 0, kSwizzle128 = 3, kPromoteTo256 = 3, kFillWithZeros = 0;

int type_of(const TensorMap& map) {
  switch (map.dtype) {
    case DType::f16:
      return kHalf;
    case DType::bf16:
      return kBFloat16;
    case DType::f32:
      return kTFloat32;
    default:
      fail(Status::InternalError, "no tensor map of {}", name_of(map.dtype));
  }
}

void encode(const TensorMap& map, void* to) {
  void* base = const_cast<void*>(map.base);
  if (map.im2col) {
    driver().check(driver().encode_im2col(to, type_of(map), map.rank, base, map.length.data(),
                                          map.stride.data(), map.lower.data(), map.upper.data(),
                                          map.channels, map.pixels, map.step.data(), kNoInterleave,
                                          kSwizzle128, kPromoteTo256, kFillWithZeros),
                   "cuTensorMapEncodeIm2col");
  } else {
    driver().check(driver().encode_tiled(to, type_of(map), map.rank, base, map.length.data(),
                                         map.stride.data(), map.box.data(), map.step.data(),
                                         kNoInterleave, kSwizzle128, kPromoteTo256, kFillWithZeros),
                   "cuTensorMapEncodeTiled");
  }
}

}  // namespace

bool has_tensor_maps() {
  return driver().encode_tiled != nullptr && driver().encode_im2col != nullptr;
}

void encode_tensor_maps(const gpu::Call& call) {
  for (const TensorMap& map : call.maps) {
    // The argument block lies where it lies; the driver wants its own alignment.
    alignas(TensorMap::kAlignment) std::byte encoded[TensorMap::kBytes];
    encode(map, encoded);
    std::memcpy(map.to, encoded, sizeof encoded);
  }
}

}  // namespace fuseplan::cuda
