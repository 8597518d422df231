// SPDX-License-Identifier: MIT
// Regions of output that wait in scratch: whatever kernels move of them in passing, all arrive, and
// nothing beside them is written.
#include "kernels/cpu/drained_output.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/integer.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/cpu/streaming.hpp"
#include "support/random.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::byte kCanary{0xa5};

/// Moves up to so many of the lines that wait, as kernels do.
void drain_some(Drain& drain, std::int64_t most) {
  const std::int64_t bytes = std::min(drain.bytes, most * kLine);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(drain.to) % kLine, 0u);
  if (bytes > 0) std::memcpy(drain.to, drain.from, static_cast<std::size_t>(bytes));
  drain.from = static_cast<const std::byte*>(drain.from) + bytes;
  drain.to = static_cast<std::byte*>(drain.to) + bytes;
  drain.bytes -= bytes;
}

/// Output of regions with gaps between some of them, that starts `offset` bytes behind a line.
struct Output {
  explicit Output(std::int64_t offset)
      : memory(static_cast<std::size_t>(kBytes) + 2 * kLine, kCanary) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    first = memory.data() + (kLine - address % kLine) % kLine + offset;
  }
  static constexpr std::int64_t kBytes = 1 << 16;
  std::vector<std::byte> memory;
  std::byte* first;
};

/// Rows of one call at a time, as if each began where a kernel begins.
void fill(DrainedOutput& drained, std::byte* region, std::int64_t bytes, test::Random& random,
          std::vector<std::byte>& expected, std::byte* base) {
  drained.begin(region, bytes);
  for (std::int64_t at = 0; at < bytes;) {
    const std::int64_t length = std::min<std::int64_t>(4 * random.between(1, 60), bytes - at);
    RowsCall call;
    call.output = region + at;
    drained.redirect(call);
    EXPECT_NE(call.output, region + at);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto value = static_cast<std::byte>(random.between(0, 255));
      static_cast<std::byte*>(call.output)[i] = value;
      expected[static_cast<std::size_t>(region + at + i - base)] = value;
    }
    drain_some(*call.drain, random.between(0, 3));
    at += length;
  }
}

TEST(DrainedOutput, ArrivesAndTouchesNothingElse) {
  test::Random random;
  constexpr std::int64_t kMost = 3000;
  for (std::int64_t offset = 0; offset < kLine; offset += 4) {
    Output output(offset);
    std::vector<std::byte> expected = output.memory;
    {
      Scratch scratch;
      DrainedOutput drained(kMost, scratch);
      for (std::int64_t at = 0; at + kMost + kLine <= Output::kBytes;) {
        const std::int64_t bytes = 4 * random.between(1, kMost / 4);
        fill(drained, output.first + at, bytes, random, expected, output.memory.data());
        at += bytes + (random.between(0, 1) == 0 ? 0 : 4 * random.between(1, 40));
      }
      drained.flush();
      fence_streams();
    }
    EXPECT_EQ(output.memory, expected) << offset << " bytes behind a line";
  }
}

TEST(DrainedOutput, MayBeEmpty) {
  Scratch scratch;
  DrainedOutput drained(0, scratch);
  drained.flush();
}

TEST(Geometry, SaysWhichImagesAreRunsOfChannels) {
  const std::array<std::int64_t, 5> len{2, 3, 1, 4, 5};
  EXPECT_TRUE(channels_are_runs({len, {60, 20, 20, 5, 1}}));
  EXPECT_TRUE(channels_are_runs({len, {99, 20, 7, 5, 1}})) << "images apart, one depth";
  EXPECT_FALSE(channels_are_runs({len, {60, 1, 60, 15, 3}})) << "channels last";
  EXPECT_FALSE(channels_are_runs({len, {66, 22, 22, 5, 1}})) << "planes apart";
  EXPECT_FALSE(channels_are_runs({len, {72, 24, 24, 6, 1}})) << "rows apart";
  EXPECT_TRUE(channels_are_runs({{2, 3, 2, 1, 20}, {120, 40, 20, 9, 1}})) << "merged rows";
}

}  // namespace
}  // namespace fuseplan::cpu
