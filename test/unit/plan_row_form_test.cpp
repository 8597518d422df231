// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "plan/row_form.hpp"

namespace fuseplan::test {
namespace {

std::string rows_of(const char* text) { return to_text(row_form(parse_problem(text))); }

TEST(RowForm, TurnsColumnsInEveryTensor) {
  EXPECT_EQ(
      rows_of("f32:1x8x9x1:nchw;conv(f32:4x8x3x1:nchw,pad=1x0,pad_hi=2x0,stride=2x3,"
              "dilation=1x4,groups=1);bias(f32:1x4x1x1:nchw);norm(per_activation,f32:1x4x5x1:"
              "nchw);add(f32:1x4x5x1:nhwc)->f32:1x4x5x1:nchw"),
      "f32:1x8x1x9:nchw;conv(f32:4x8x1x3:nchw,pad=0x1,stride=3x2,dilation=4x1,groups=1,"
      "pad_hi=0x2);bias(f32:1x4x1x1:nchw);norm(per_activation,f32:1x4x1x5:nchw);add(f32:1x4x1x5:"
      "nhwc)->f32:1x4x1x5:nchw");
  EXPECT_EQ(rows_of("f16:2x8x9x1x1:ndhwc;conv(f16:4x8x3x1x1:ndhwc,pad=1x0x0,stride=1x1x1,dilation="
                    "1x1x1,groups=1)->f16:2x4x9x1x1:ndhwc"),
            "f16:2x8x1x1x9:ndhwc;conv(f16:4x8x1x1x3:ndhwc,pad=0x0x1,stride=1x1x1,dilation=1x1x1,"
            "groups=1)->f16:2x4x1x1x9:ndhwc");
  // Gaps stay where they are in memory.
  EXPECT_EQ(rows_of("f32:1x8x9x1:s900,100,10,1;conv(f32:4x8x1x1:nchw,pad=0x0,stride=1x1,dilation="
                    "1x1,groups=1)->f32:1x4x9x1:nchw"),
            "f32:1x8x1x9:s900,100,90,10;conv(f32:4x8x1x1:nchw,pad=0x0,stride=1x1,dilation=1x1,"
            "groups=1)->f32:1x4x1x9:nchw");
}

TEST(RowForm, LeavesOthersAsTheyAre) {
  for (const char* text :
       {"f32:1x8x9x1:nchw;conv(f32:4x8x3x3:nchw,pad=1x1)", "f32:1x8x9x1:nchw;activation(relu)",
        "f32:1x8x1x1:nchw;conv(f32:4x8x1x1:nchw)", "f32:1x8x1x9:nchw;conv(f32:4x8x1x3:nchw)",
        "f32:1x8x9x2:nchw;conv(f32:4x8x3x2:nchw)", "f32:1x8x9x2:nchw;conv(f32:4x8x3x1,stride=1x2)",
        "f32:1x8x9:nchw;conv(f32:4x8x3:nchw)"})
    EXPECT_EQ(row_form(parse_problem(text)), parse_problem(text)) << text;
}

}  // namespace
}  // namespace fuseplan::test
