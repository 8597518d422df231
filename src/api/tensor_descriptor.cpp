// SPDX-License-Identifier: MIT
#include <limits>
#include <span>

#include "api/guard.hpp"
#include "api/modes.hpp"
#include "api/objects.hpp"
#include "fuseplan/tensor.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

template <typename T>
std::int64_t length_of(T value, const char* what, int dimension) {
  if constexpr (std::is_unsigned_v<T>)
    require(value <= static_cast<T>(std::numeric_limits<std::int64_t>::max()), Status::BadParm,
            "tensorDesc: {} of dimension {} is {}, which exceeds 2^63 - 1", what, dimension, value);
  return static_cast<std::int64_t>(value);
}

template <typename T>
Dims dims_of(std::span<const T> values, const char* what) {
  Dims dims;
  for (const T value : values)
    dims.push_back(length_of(value, what, static_cast<int>(dims.size())));
  return dims;
}

void check_count(int count, const void* lengths, const char* name) {
  require(count >= 1 && count <= kMaxRank, Status::InvalidValue,
          "a tensor of {} dimensions; expected 1 to {}", count, kMaxRank);
  require(lengths != nullptr, Status::InvalidValue, "{} is NULL", name);
}

// Lengths are checked before packed strides are computed from them.
Tensor packed_tensor(fuseplanDataType_t type, const Dims& lens, Layout layout) {
  validate(Tensor{static_cast<DType>(type), lens, Dims(lens.size(), 1)}, "tensorDesc");
  return packed(static_cast<DType>(type), lens, layout);
}

template <typename T>
void set_tensor(fuseplanTensorDescriptor_t descriptor, fuseplanDataType_t type, int count,
                const T* lens, const T* strides) {
  const auto object = pin(descriptor, "tensorDesc");
  check_count(count, lens, "dimsA");
  const auto size = static_cast<std::size_t>(count);
  const Dims lengths = dims_of(std::span(lens, size), "length");
  const Tensor tensor = strides == nullptr ? packed_tensor(type, lengths, Layout::channels_first)
                                           : Tensor{static_cast<DType>(type), lengths,
                                                    dims_of(std::span(strides, size), "stride")};
  validate(tensor, "tensorDesc");
  object->tensor = tensor;
}

// What store_dims stores nowhere may be of any size.
template <typename T>
void check_dims(const T* to, const Dims& dims, const char* what) {
  if (to == nullptr) return;
  for (const std::int64_t value : dims)
    require(static_cast<std::uint64_t>(value) <=
                static_cast<std::uint64_t>(std::numeric_limits<T>::max()),
            Status::BadParm, "{} {} exceeds an int: call fuseplanGetTensorDescriptorV2", what,
            value);
}

template <typename T>
void store_dims(T* to, const Dims& dims) {
  if (to == nullptr) return;
  std::transform(dims.begin(), dims.end(), to, [](std::int64_t v) { return static_cast<T>(v); });
}

template <typename T>
void get_tensor(fuseplanTensorDescriptor_t descriptor, fuseplanDataType_t* type, T* lens,
                T* strides) {
  const Tensor tensor = tensor_of(descriptor, "tensorDesc");
  check_dims(lens, tensor.lens, "length");
  check_dims(strides, tensor.strides, "stride");
  store_dims(lens, tensor.lens);
  store_dims(strides, tensor.strides);
  store(type, tensor.dtype);
}

struct LayoutRow {
  fuseplanTensorLayout_t layout;
  int rank;
  Layout order;
};
// Memory order per public layout; CHWN is spelled by strides of its own.
constexpr LayoutRow kLayouts[] = {
    {fuseplanTensorNCHW, 4, Layout::channels_first},
    {fuseplanTensorNHWC, 4, Layout::channels_last},
    {fuseplanTensorNCDHW, 5, Layout::channels_first},
    {fuseplanTensorNDHWC, 5, Layout::channels_last},
};

Tensor tensor_with_layout(fuseplanDataType_t type, fuseplanTensorLayout_t layout,
                          const Dims& lens) {
  const int rank = static_cast<int>(lens.size());
  const auto check_rank = [&](int expected) {
    require(rank == expected, Status::BadParm, "tensorLayout {} has {} dimensions, num_lens is {}",
            static_cast<int>(layout), expected, rank);
  };
  for (const LayoutRow& row : kLayouts) {
    if (row.layout != layout) continue;
    check_rank(row.rank);
    return packed_tensor(type, lens, row.order);
  }
  require(layout < 3 || layout > 6, Status::NotImplemented,
          "tensorLayout {} (vectors of channels) is not implemented", static_cast<int>(layout));
  require(layout == fuseplanTensorCHWN, Status::BadParm,
          "tensorLayout {} is no layout that can be set", static_cast<int>(layout));
  check_rank(4);
  // CHWN is NCHW of a tensor whose batch stands last.
  const Tensor rotated =
      packed_tensor(type, {lens[1], lens[2], lens[3], lens[0]}, Layout::channels_first);
  const Dims& strides = rotated.strides;
  return {rotated.dtype, lens, {strides[3], strides[0], strides[1], strides[2]}};
}

}  // namespace

fuseplanStatus_t fuseplanCreateTensorDescriptor(fuseplanTensorDescriptor_t* tensorDesc) {
  return guard(__func__,
               [&] { *required(tensorDesc, "tensorDesc") = create<fuseplanTensorDescriptor_t>(); });
}

fuseplanStatus_t fuseplanDestroyTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc) {
  return guard(__func__, [&] { destroy(tensorDesc, "tensorDesc"); });
}

fuseplanStatus_t fuseplanSet4dTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                               fuseplanDataType_t dataType, int n, int c, int h,
                                               int w) {
  return guard(__func__, [&] {
    const int lens[] = {n, c, h, w};
    set_tensor<int>(tensorDesc, dataType, 4, lens, nullptr);
  });
}

fuseplanStatus_t fuseplanSet4dTensorDescriptorEx(fuseplanTensorDescriptor_t tensorDesc,
                                                 fuseplanDataType_t dataType, int n, int c, int h,
                                                 int w, int nStride, int cStride, int hStride,
                                                 int wStride) {
  return guard(__func__, [&] {
    const int lens[] = {n, c, h, w}, strides[] = {nStride, cStride, hStride, wStride};
    set_tensor(tensorDesc, dataType, 4, lens, strides);
  });
}

fuseplanStatus_t fuseplanSetTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                             fuseplanDataType_t dataType, int nbDims,
                                             const int* dimsA, const int* stridesA) {
  return guard(__func__, [&] { set_tensor(tensorDesc, dataType, nbDims, dimsA, stridesA); });
}

fuseplanStatus_t fuseplanSetTensorDescriptorV2(fuseplanTensorDescriptor_t tensorDesc,
                                               fuseplanDataType_t dataType, int nbDims,
                                               const size_t* dimsA, const size_t* stridesA) {
  return guard(__func__, [&] { set_tensor(tensorDesc, dataType, nbDims, dimsA, stridesA); });
}

fuseplanStatus_t fuseplanSetNdTensorDescriptorWithLayout(fuseplanTensorDescriptor_t tensorDesc,
                                                         fuseplanDataType_t dataType,
                                                         fuseplanTensorLayout_t tensorLayout,
                                                         const int* lens, int num_lens) {
  return guard(__func__, [&] {
    const auto object = pin(tensorDesc, "tensorDesc");
    check_count(num_lens, lens, "lens");
    const Dims dims = dims_of(std::span(lens, static_cast<std::size_t>(num_lens)), "length");
    const Tensor tensor = tensor_with_layout(dataType, tensorLayout, dims);
    validate(tensor, "tensorDesc");
    object->tensor = tensor;
  });
}

fuseplanStatus_t fuseplanGet4dTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                               fuseplanDataType_t* dataType, int* n, int* c, int* h,
                                               int* w, int* nStride, int* cStride, int* hStride,
                                               int* wStride) {
  return guard(__func__, [&] {
    const Tensor tensor = tensor_of(tensorDesc, "tensorDesc");
    require(tensor.rank() == 4, Status::BadParm, "tensorDesc has {} dimensions, expected 4",
            tensor.rank());
    required(dataType, "dataType");
    int* const to[] = {n, c, h, w, nStride, cStride, hStride, wStride};
    const char* const names[] = {"n", "c", "h", "w", "nStride", "cStride", "hStride", "wStride"};
    for (int i = 0; i < 8; ++i) required(to[i], names[i]);
    int values[8];
    check_dims(values, tensor.lens, "length");
    check_dims(values, tensor.strides, "stride");
    store_dims(values, tensor.lens);
    store_dims(values + 4, tensor.strides);
    for (int i = 0; i < 8; ++i) *to[i] = values[i];
    store(dataType, tensor.dtype);
  });
}

fuseplanStatus_t fuseplanGetTensorDescriptor(fuseplanTensorDescriptor_t tensorDesc,
                                             fuseplanDataType_t* dataType, int* dimsA,
                                             int* stridesA) {
  return guard(__func__, [&] { get_tensor(tensorDesc, dataType, dimsA, stridesA); });
}

fuseplanStatus_t fuseplanGetTensorDescriptorV2(fuseplanTensorDescriptor_t tensorDesc,
                                               fuseplanDataType_t* dataType, size_t* dimsA,
                                               size_t* stridesA) {
  return guard(__func__, [&] { get_tensor(tensorDesc, dataType, dimsA, stridesA); });
}

fuseplanStatus_t fuseplanGetTensorDescriptorSize(fuseplanTensorDescriptor_t tensorDesc, int* size) {
  return guard(__func__, [&] {
    const Tensor tensor = tensor_of(tensorDesc, "tensorDesc");
    *required(size, "size") = tensor.rank();
  });
}

fuseplanStatus_t fuseplanGetTensorNumBytes(fuseplanTensorDescriptor_t tensorDesc,
                                           size_t* numBytes) {
  return guard(__func__, [&] {
    const Tensor tensor = tensor_of(tensorDesc, "tensorDesc");
    *required(numBytes, "numBytes") = tensor.bytes();
  });
}

fuseplanStatus_t fuseplanGetTensorDescriptorLayout(fuseplanTensorDescriptor_t tensorDesc,
                                                   fuseplanTensorLayout_t* tensorLayout) {
  return guard(__func__, [&] {
    const Tensor tensor = tensor_of(tensorDesc, "tensorDesc");
    required(tensorLayout, "tensorLayout");
    fuseplanTensorLayout_t answer = fuseplanTensorStrided;
    for (const LayoutRow& row : kLayouts)
      if (row.rank == tensor.rank() && row.order == tensor.layout()) answer = row.layout;
    *tensorLayout = answer;
  });
}

fuseplanStatus_t fuseplanDeriveBNTensorDescriptor(fuseplanTensorDescriptor_t derivedBnDesc,
                                                  fuseplanTensorDescriptor_t xDesc,
                                                  fuseplanBatchNormMode_t bn_mode) {
  return guard(__func__, [&] {
    const auto derived = pin(derivedBnDesc, "derivedBnDesc");
    derived->tensor = norm_parameters(norm_mode_of(bn_mode), tensor_of(xDesc, "xDesc"));
  });
}
