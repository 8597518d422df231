// SPDX-License-Identifier: MIT
#pragma once

#include "driver/case.hpp"

namespace fuseplan::driver {

/// Weights that are other ones at every call, for the price of one store: the sign of one element
/// is turned, each time of another, so that nothing prepared from them before is right any more.
class ChangingWeights {
 public:
  ChangingWeights(Case& problem, bool change) {
    if (!change) return;
    if (problem.problem().conv() == nullptr)
      throw std::invalid_argument("raw weights: " + problem.problem().name + " has no convolution");
    test::HostTensor& weights = problem.parameter(0);
    width_ = test::size_of(weights.type());
    elements_ = weights.bytes() / width_;
    bytes_ = static_cast<unsigned char*>(weights.data());
  }

  void change() {
    if (bytes_ == nullptr) return;
    constexpr std::size_t kStep = 7919;  // a prime: visits every element of nearly any tensor
    place_ = (place_ + kStep) % elements_;
    bytes_[place_ * width_ + width_ - 1] ^= 0x80;
  }

 private:
  unsigned char* bytes_ = nullptr;
  std::size_t width_ = 0, elements_ = 0, place_ = 0;
};

}  // namespace fuseplan::driver
