// SPDX-License-Identifier: MIT
// Images of one column, which run as images of one row.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

constexpr const char* kTexts[] = {
    "f32:2x40x61x1:nchw;conv(f32:33x40x3x1,pad=1x0);bias(f32:1x33x1x1);norm(spatial,f32:1x33x1x1);"
    "activation(relu)",
    "f32:1x24x90x1:nchw;conv(f32:24x1x5x1,pad=2x0,groups=24);add(f32:1x24x90x1);activation(silu)",
    "f32:1x1x160x1:nchw;conv(f32:20x1x10x1,stride=5x3);norm(per_activation,f32:1x20x31x1)",
    "f32:3x20x50x1:nchw;conv(f32:35x20x1x1);scale_shift(f32:1x35x1x1);add(f32:1x35x1x1);"
    "activation(gelu_erf)",
    "f32:1x18x40x1:nchw;conv(f32:30x6x4x1,pad=3x0,pad_hi=1x0,dilation=2x1,groups=3);activation("
    "tanh)",
    "f32:1x12x7x30x1:nchw;conv(f32:18x12x3x3x1,pad=1x0x0,stride=1x2x1);bias(f32:1x18x1x1x1)",
    "f32:1x12x60x1x1:nchw;conv(f32:18x12x3x1x1,pad=1x0x0);activation(elu);add(f32:1x18x60x1x1)",
    "f32:2x9x1x1:nchw;conv(f32:17x9x1x1);bias(f32:1x17x1x1)",
    "f32:2x16x40x1:nchw;conv(f32:24x16x3x1,pad=1x0);statistics(f32:1x24x1x1)",
    // Columns that are more than one with their padding or filter stay as they are.
    "f32:1x16x30x1:nchw;conv(f32:24x16x3x3,pad=1x1);activation(relu)",
    "f32:1x16x30x3:nchw;conv(f32:24x16x3x3,pad=1x0);activation(relu)",
};

TEST(Columns, AreRightInEveryTypeAndLayout) {
  std::uint64_t stream = 0;
  for (const char* text : kTexts)
    for (const std::string& level : kLevels)
      for (const fuseplanDataType_t type : kTypes)
        for (const bool channels_last : {false, true})
          expect_right(converted(driver::parse_problem(text), type, channels_last), level,
                       {.stream = ++stream,
                        .blend = stream % 3 == 0,
                        .misalign = static_cast<int>(stream % 5)});
}

/// The solver and its configuration.
std::string choice(fuseplanHandle_t handle, const std::string& text) {
  Case c(driver::parse_problem(text));
  c.compile(handle);
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  driver::check(fuseplanPlanGetInfo(handle, c.plan(), &info));
  return std::string(info.solver) + " " + info.config;
}

TEST(Columns, RunAsRowsDo) {
  for (const std::string& level : kLevels) {
    const Handle handle = handle_at(level);
    EXPECT_EQ(
        choice(handle.get(), "f32:1x64x200x1:nchw;conv(f32:64x64x3x1,pad=1x0);activation(relu)"),
        choice(handle.get(), "f32:1x64x1x200:nchw;conv(f32:64x64x1x3,pad=0x1);activation(relu)"))
        << level;
  }
}

}  // namespace
}  // namespace fuseplan::test
