// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "fake_calls.hpp"
#include "support/element.hpp"

namespace fuseplan::fake_cudnn {

using Four = std::array<std::int64_t, 4>;

/// cudnnTensorDescriptor_t, and a filter's.
struct FourAxes {
  int type = -1;
  Four lens{}, strides{};

  test::Element element() const {
    return type == 0 ? test::Element::f32 : type == 2 ? test::Element::f16 : test::Element::bf16;
  }
  std::int64_t place(const Four& at) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < 4; ++i) place += at[i] * strides[i];
    return place;
  }
  /// Spread over axes along which it has one value.
  float load(const void* memory, Four at) const {
    for (std::size_t i = 0; i < 4; ++i)
      if (lens[i] == 1) at[i] = 0;
    return static_cast<float>(test::load_element(element(), memory, place(at)));
  }
  void store(void* memory, const Four& at, float value) const {
    test::store_element(element(), memory, place(at), value);
  }
  /// Calls f with every index.
  template <typename F>
  void each(const F& f) const {
    for (std::int64_t n = 0; n < lens[0]; ++n)
      for (std::int64_t c = 0; c < lens[1]; ++c)
        for (std::int64_t h = 0; h < lens[2]; ++h)
          for (std::int64_t w = 0; w < lens[3]; ++w) f(Four{n, c, h, w});
  }
};

inline const FourAxes& tensor_at(const void* object) {
  return *static_cast<const FourAxes*>(object);
}
inline float factor_at(const void* pointer) { return *static_cast<const float*>(pointer); }

}  // namespace fuseplan::fake_cudnn
