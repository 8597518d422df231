// SPDX-License-Identifier: MIT
#include "backend/cuda/nvrtc.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace fuseplan::cuda {
namespace {

using Names = std::vector<std::string>;

TEST(NvrtcNames, AreTheNewestThatTheDriverTakes) {
  EXPECT_EQ(nvrtc_sonames(INT_MAX, INT_MAX),
            Names({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}));
  EXPECT_EQ(nvrtc_sonames(13000, 90),
            Names({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}));
  EXPECT_EQ(nvrtc_sonames(12090, 90), Names({"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}));
  EXPECT_EQ(nvrtc_sonames(11080, 60), Names({"libnvrtc.so.11.2", "libnvrtc.so"}));
}

// Another device may be new enough for them.
TEST(NvrtcNames, EndWithThoseThatAreTooNewForADevice) {
  EXPECT_EQ(nvrtc_sonames(13000, 61),
            Names({"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.13", "libnvrtc.so"}));
  EXPECT_EQ(nvrtc_sonames(12000, 37), Names({"libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so"}));
}

}  // namespace
}  // namespace fuseplan::cuda
