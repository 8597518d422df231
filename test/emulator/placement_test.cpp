// SPDX-License-Identifier: MIT
// Cases with copies on a device, as the driver makes them: there and back, aligned or not, and what
// is written beside a copy is seen.
#include <array>

#include "emulated.hpp"

namespace fuseplan::test {
namespace {

TEST(DevicePlacement, CasesRunOnTheirCopies) {
  const Handle handle = emulated_handle();
  const char* const kProblems[] = {
      "f16:2x8x5x5:nhwc;conv(f16:8x8x1x1:nhwc);bias(f32:1x8x1x1);add(f16:2x8x5x5:nhwc)",
      "f32:2x8x3x5:nchw;norm(spatial,f32:1x8x1x1);scale_shift(f32:1x8x1x1);activation(elu)"};
  for (const char* text : kProblems)
    for (int misalign : {0, 1}) {
      SCOPED_TRACE(text + std::to_string(misalign));
      Case c(driver::parse_problem(text),
             {.blend = true, .misalign = misalign, .device = handle.get()});
      const auto address = reinterpret_cast<std::uintptr_t>(c.output_at());
      EXPECT_EQ(address % 64, reinterpret_cast<std::uintptr_t>(c.output().data()) % 64);
      EXPECT_NE(c.output_at(), c.output().data());
      for (int i = 0; i < 2; ++i) {
        c.reset_output();  // beta reads it
        expect_right(c, handle.get());
      }
      EXPECT_EQ(c.output().damage(), "");
      EXPECT_EQ(c.input().damage(), "");
    }
}

TEST(DevicePlacement, WritingBesideACopyIsSeen) {
  const Handle handle = emulated_handle();
  Case c(driver::parse_problem("f32:1x4x3x3;activation(abs)"), {.device = handle.get()});
  expect_right(c, handle.get());
  const float stray = 1;
  char* const behind = static_cast<char*>(c.output_at()) + c.output().bytes();
  driver::check(fuseplanCopy(handle.get(), behind, &stray, sizeof stray, fuseplanCopyToDevice));
  EXPECT_FALSE(c.compare().ok());
  EXPECT_NE(c.output().damage(), "");
}

TEST(EmulatedPlacement, NothingIsLeftOnTheDevice) {
  const Handle handle = emulated_handle();
  emulator::reset();
  {
    Case c(driver::parse_problem("f32:1x4x3x3;bias(f32:1x4x1x1)"), {.device = handle.get()});
    expect_right(c, handle.get());
    EXPECT_EQ(emulator::counters().allocations, 3);
  }
  EXPECT_EQ(emulator::counters().allocations, 0);
}

}  // namespace
}  // namespace fuseplan::test
