// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/cpu/strassen/config.hpp"

namespace fuseplan::cpu {
namespace {

TEST(StrassenConfig, TextReadsBack) {
  for (const StrassenConfig& config :
       {StrassenConfig{true, 14, 1, 56, false}, StrassenConfig{true, 9, 3, 1, true},
        StrassenConfig{false, 26, 1, 123456, false}})
    EXPECT_EQ(parse_strassen_config(to_text(config)), config) << to_text(config);
  EXPECT_EQ(to_text(StrassenConfig{true, 14, 1, 56, false}), "channels:14x1,block=56,staged=0");
  EXPECT_EQ(to_text(StrassenConfig{false, 16, 1, 784, true}), "pixels:16x1,block=784,staged=1");
}

TEST(StrassenConfig, OtherTextIsNone) {
  for (const char* text : {"", "channels", "channels:14x1", "channels:14x1,block=56",
                           "channels:14x1,block=56,staged=2", "channels:14x1,block=0,staged=0",
                           "channels:0x1,block=56,staged=0", "channels:14x0,block=56,staged=0",
                           "pixel:14x1,block=56,staged=0", "channels:14x1,block=56,staged=0 ",
                           "channels:014x1,block=56,staged=0"})
    EXPECT_FALSE(parse_strassen_config(text)) << text;
}

}  // namespace
}  // namespace fuseplan::cpu
