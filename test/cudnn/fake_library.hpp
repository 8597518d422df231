// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "driver/cudnn/graph_choice.hpp"

namespace fuseplan::driver {

/// The driver's code finds the library that stands in for cuDNN.
class WithFakeCudnn : public testing::Test {
 protected:
  WithFakeCudnn() {
    use(FUSEPLAN_FAKE_CUDNN_LIBRARY);
    unsetenv("FUSEPLAN_FAKE_CUDNN");
  }
  static void use(const char* library) { setenv("FUSEPLAN_LIB_CUDNN", library, 1); }
};

/// What `make` throws; fails if it throws nothing.
template <typename Make>
std::string refusal_of(const Make& make) {
  try {
    make();
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace fuseplan::driver
