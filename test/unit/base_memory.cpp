// SPDX-License-Identifier: MIT
#include "base/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "base/status.hpp"

namespace fuseplan {
namespace {

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();

bool aligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % Buffer::kAlignment == 0;
}

template <typename F>
Status status_of(const F& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.status();
  }
  return Status::Success;
}

/// A caller's allocator that counts, and that returns memory off any alignment.
struct Counting {
  int live = 0;
  std::size_t requested = 0;

  Allocator allocator() {
    return {[](void* context, std::size_t bytes) -> void* {
              auto* self = static_cast<Counting*>(context);
              self->requested = bytes;
              void* memory = std::malloc(bytes + 8);
              if (memory == nullptr) return nullptr;
              ++self->live;
              return static_cast<char*>(memory) + 8;
            },
            [](void* context, void* memory) {
              --static_cast<Counting*>(context)->live;
              std::free(static_cast<char*>(memory) - 8);
            },
            this};
  }
};

TEST(Buffer, IsAlignedAndHoldsItsBytes) {
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 100000u}) {
    const Buffer buffer(bytes);
    EXPECT_TRUE(aligned(buffer.data()));
    EXPECT_EQ(buffer.bytes(), bytes);
    std::memset(buffer.data(), 1, bytes);  // the address sanitizer checks the extent
  }
  EXPECT_EQ(Buffer().data(), nullptr);
  EXPECT_EQ(Buffer(0).data(), nullptr);
}

TEST(Buffer, UsesTheCallersAllocatorAndReturnsEveryByte) {
  Counting counting;
  {
    Buffer first(1000, counting.allocator());
    EXPECT_TRUE(aligned(first.data()));
    std::memset(first.data(), 1, 1000);
    EXPECT_GE(counting.requested, 1000u);
    Buffer second = std::move(first);
    EXPECT_EQ(counting.live, 1);
    Buffer third(10, counting.allocator());
    third = std::move(second);
    EXPECT_EQ(third.bytes(), 1000u);
  }
  EXPECT_EQ(counting.live, 0);
}

TEST(Buffer, ImpossibleSizesFailAndSaySo) {
  Counting counting;
  for (const std::size_t bytes : {kMax, kMax - 63, kMax - 64, kMax / 2}) {
    EXPECT_EQ(status_of([&] { Buffer buffer(bytes); }), Status::AllocFailed) << bytes;
    EXPECT_EQ(status_of([&] { Buffer buffer(bytes, counting.allocator()); }), Status::AllocFailed)
        << bytes;
  }
  EXPECT_EQ(counting.live, 0);
}

TEST(Scratch, PiecesAreAlignedAndDisjoint) {
  const Scratch outer_guard;
  Scratch scratch;
  unsigned char* pieces[20];
  std::size_t sizes[20];
  for (int i = 0; i < 20; ++i) {
    sizes[i] = std::size_t{1} << i;  // crosses several blocks
    pieces[i] = scratch.take_array<unsigned char>(sizes[i]);
    EXPECT_TRUE(aligned(pieces[i]));
    std::memset(pieces[i], i, sizes[i]);
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pieces[i][0], i);
    EXPECT_EQ(pieces[i][sizes[i] - 1], i);
  }
}

TEST(Scratch, GivesTheSameMemoryAgain) {
  const auto take_some = [] {
    Scratch scratch;
    scratch.take(100);
    return scratch.take(std::size_t{3} << 20);
  };
  void* const first = take_some();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(take_some(), first);
}

TEST(Scratch, InnerPiecesLeaveOuterOnesAlone) {
  Scratch outer;
  int* const mine = outer.take_array<int>(4);
  mine[0] = 42;
  void* inner_piece = nullptr;
  {
    Scratch inner;
    inner_piece = inner.take(64);
    std::memset(inner_piece, 0xff, 64);
    std::memset(inner.take(std::size_t{8} << 20), 0xff, std::size_t{8} << 20);
  }
  EXPECT_EQ(mine[0], 42);
  EXPECT_EQ(outer.take(64), inner_piece);
}

TEST(Scratch, BelongsToItsThread) {
  Scratch scratch;
  void* const mine = scratch.take(64);
  void* other = nullptr;
  std::thread([&] {
    Scratch theirs;
    other = theirs.take(64);
  }).join();
  EXPECT_NE(mine, other);
}

TEST(Scratch, ImpossibleSizesFailAndLeaveItUsable) {
  Scratch scratch;
  for (const std::size_t bytes : {kMax, kMax - 63, kMax / 2})
    EXPECT_EQ(status_of([&] { scratch.take(bytes); }), Status::AllocFailed) << bytes;
  EXPECT_EQ(status_of([&] { scratch.take_array<double>(kMax / 8 + 2); }), Status::AllocFailed);
  std::memset(scratch.take(4096), 0, 4096);
}

}  // namespace
}  // namespace fuseplan
