// SPDX-License-Identifier: MIT
// The stand-in for the driver keeps the order that CUDA's documentation promises, and no other.
#include <array>
#include <set>
#include <string>

#include "driver_calls.hpp"
#include "emulated.hpp"

namespace fuseplan::test {
namespace {

constexpr int kSuccess = 0, kInvalidHandle = 400, kNotReady = 600, kHeld = 702, kFailed = 719;
constexpr int kUnsupported = 900, kInvalidated = 901, kUnjoined = 904, kIsolation = 905,
              kImplicit = 906, kCapturedEvent = 907;

cuda::Stream stream_of(void* handle) { return static_cast<cuda::Stream>(handle); }

class FakeStreams : public testing::Test {
 protected:
  FakeStreams() : handle_(emulated_handle()), cu(driver_calls()) {
    emulator::reset();
    emulator::set_seed(test_seed());
    for (cuda::DevicePointer& cell : cells_) {
      EXPECT_EQ(cuda::driver().memory_allocate(&cell, sizeof(int)), kSuccess);
      EXPECT_EQ(cu.copy_to_device(cell, &zero_, sizeof zero_), kSuccess);
    }
  }
  ~FakeStreams() {
    emulator::reset();
    for (cuda::DevicePointer cell : cells_) EXPECT_EQ(cuda::driver().memory_free(cell), kSuccess);
  }

  /// Queued: the cell gets a value, or another cell's.
  int put(void* stream, int cell, const int& value) {
    return cuda::driver().copy_to_device(cells_[cell], &value, sizeof value, stream_of(stream));
  }
  int move(void* stream, int to, int from) {
    return cuda::driver().copy_on_device(cells_[to], cells_[from], sizeof(int), stream_of(stream));
  }
  int synchronize(void* stream) { return cuda::driver().stream_synchronize(stream_of(stream)); }
  /// What the device has done so far.
  int value(int cell) const { return *reinterpret_cast<const int*>(cells_[cell]); }
  void* new_event(unsigned flags = 0) {
    void* event = nullptr;
    EXPECT_EQ(cu.event_create(&event, flags), kSuccess);
    return event;
  }

  const Handle handle_;
  const DriverCalls& cu;
  const OnDevice current_;
  void* const stream_ = emulator::new_stream(true);
  void* const apart_ = emulator::new_stream(false);
  std::array<cuda::DevicePointer, 4> cells_{};
  const int zero_ = 0, one_ = 1, two_ = 2;
};

TEST_F(FakeStreams, NothingIsDoneBeforeSomethingWaits) {
  int source = 1, read = 0;
  EXPECT_EQ(put(stream_, 0, source), kSuccess);
  EXPECT_EQ(cuda::driver().copy_to_host(&read, cells_[0], sizeof read, stream_of(stream_)),
            kSuccess);
  EXPECT_EQ(emulator::pending(stream_), 2u);
  EXPECT_EQ(value(0), 0);
  source = 5;  // a copy from memory that needs no staging reads it late
  EXPECT_EQ(synchronize(stream_), kSuccess);
  EXPECT_EQ(read, 5);
  EXPECT_EQ(emulator::pending(stream_), 0u);
  EXPECT_EQ(emulator::counters().waits, 1 + static_cast<long>(cells_.size()));
}

TEST_F(FakeStreams, EarlyIsAtOnce) {
  emulator::set_progress(emulator::Progress::early);
  EXPECT_EQ(put(apart_, 0, one_), kSuccess);
  EXPECT_EQ(value(0), 1);
}

// The documentation's example: the legacy stream waits for the stream, and the stream for it.
TEST_F(FakeStreams, TheLegacyStreamKeepsOrderWithBlockingOnes) {
  void* const kPerThread = reinterpret_cast<void*>(2);
  void* const kLegacy = reinterpret_cast<void*>(1);
  for (void* stream : {stream_, kPerThread})
    for (void* legacy : {static_cast<void*>(nullptr), kLegacy}) {
      put(stream, 0, one_);
      move(legacy, 1, 0);
      EXPECT_EQ(synchronize(legacy), kSuccess);
      EXPECT_EQ(value(1), 1);
      put(legacy, 2, two_);
      move(stream, 3, 2);
      EXPECT_EQ(synchronize(stream), kSuccess);
      EXPECT_EQ(value(3), 2);
      for (int cell : {0, 1, 2, 3}) put(nullptr, cell, zero_);
      EXPECT_EQ(synchronize(nullptr), kSuccess);
    }
}

TEST_F(FakeStreams, NonBlockingStreamsStandApart) {
  put(apart_, 0, one_);
  int read = -1;
  EXPECT_EQ(cu.copy_to_host(&read, cells_[0], sizeof read), kSuccess);
  EXPECT_EQ(read, 0) << "a synchronous copy has waited for a non-blocking stream";
  EXPECT_EQ(synchronize(nullptr), kSuccess);
  EXPECT_EQ(synchronize(stream_), kSuccess);
  EXPECT_EQ(emulator::pending(apart_), 1u);
  put(nullptr, 1, two_);
  EXPECT_EQ(synchronize(apart_), kSuccess);
  EXPECT_EQ(emulator::pending(nullptr), 1u);
  put(apart_, 2, one_);
  EXPECT_EQ(cu.context_synchronize(), kSuccess);
  EXPECT_EQ(value(1), 2);
  EXPECT_EQ(value(2), 1);
}

TEST_F(FakeStreams, EventsAreInOrder) {
  void* const event = new_event();
  void* const end = new_event();
  EXPECT_EQ(cu.event_query(event), kSuccess) << "never recorded";
  put(apart_, 0, one_);
  EXPECT_EQ(cu.event_record(event, apart_), kSuccess);
  put(apart_, 0, two_);
  EXPECT_EQ(cu.stream_wait(stream_, event, 0), kSuccess);
  move(stream_, 1, 0);
  float ms = -1;
  EXPECT_EQ(cu.event_record(end, stream_), kSuccess);
  EXPECT_EQ(cu.event_elapsed(&ms, event, end), kNotReady);
  EXPECT_EQ(synchronize(stream_), kSuccess);
  EXPECT_EQ(value(1), 1) << "what is behind the event was not waited for";
  EXPECT_EQ(emulator::pending(apart_), 1u);
  EXPECT_EQ(cu.event_elapsed(&ms, event, end), kSuccess);
  EXPECT_GE(ms, 0);
  EXPECT_EQ(cu.event_record(event, apart_), kSuccess);
  EXPECT_EQ(cu.event_query(event), kNotReady);
  int asked = 0;
  while (cu.event_query(event) == kNotReady && asked < 1000) ++asked;
  EXPECT_EQ(value(0), 2);
  EXPECT_EQ(cu.stream_query(apart_), kSuccess);
  put(apart_, 0, one_);
  EXPECT_EQ(cu.event_record(event, apart_), kSuccess);
  put(apart_, 0, two_);
  EXPECT_EQ(cu.event_synchronize(event), kSuccess);
  EXPECT_EQ(value(0), 1);
  constexpr unsigned kDisableTiming = 2;
  void* const untimed = new_event(kDisableTiming);
  EXPECT_EQ(cu.event_record(untimed, stream_), kSuccess);
  EXPECT_EQ(cu.event_elapsed(&ms, untimed, end), kInvalidHandle);
  for (void* used : {event, end, untimed}) EXPECT_EQ(cu.event_destroy(used), kSuccess);
}

// Streams without order between them end in either; those with one always in the same.
TEST_F(FakeStreams, AnyOrderThatIsPromised) {
  std::set<int> unordered, ordered;
  void* const event = new_event();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    emulator::set_progress(emulator::Progress::any);
    emulator::set_seed(test_seed() + seed);
    put(stream_, 0, one_);
    put(apart_, 0, two_);
    put(stream_, 1, one_);
    cu.event_record(event, stream_);
    cu.stream_wait(apart_, event, 0);
    put(apart_, 1, two_);
    EXPECT_EQ(cu.context_synchronize(), kSuccess);
    unordered.insert(value(0));
    ordered.insert(value(1));
  }
  EXPECT_EQ(unordered, (std::set<int>{1, 2})) << "seed " << test_seed();
  EXPECT_EQ(ordered, std::set<int>{2}) << "seed " << test_seed();
  EXPECT_EQ(cu.event_destroy(event), kSuccess);
}

TEST_F(FakeStreams, GraphsAreWhatWasCaptured) {
  int source = 1;
  const CapturedGraph graph(apart_, [&] {
    EXPECT_EQ(put(apart_, 0, source), kSuccess);
    EXPECT_EQ(move(apart_, 1, 0), kSuccess);
  });
  EXPECT_EQ(graph.result(), kSuccess);
  EXPECT_EQ(synchronize(apart_), kSuccess);
  EXPECT_EQ(value(1), 0) << "captured, not done";
  for (int replay : {1, 7}) {
    source = replay;
    graph.launch(stream_);
    EXPECT_NE(value(1), replay);
    EXPECT_EQ(synchronize(stream_), kSuccess);
    EXPECT_EQ(value(1), replay);
  }
}

// Two streams captured by way of events; what stands side by side is done in either order.
TEST_F(FakeStreams, GraphsOfSeveralStreams) {
  void* const fork = new_event();
  void* const join = new_event();
  const CapturedGraph graph(apart_, [&] {
    put(apart_, 0, one_);
    EXPECT_EQ(cu.event_record(fork, apart_), kSuccess);
    EXPECT_EQ(cu.stream_wait(stream_, fork, 0), kSuccess);
    move(stream_, 1, 0);
    put(stream_, 2, one_);
    put(apart_, 2, two_);
    EXPECT_EQ(cu.event_query(fork), kCapturedEvent);
  });
  EXPECT_EQ(graph.result(), kInvalidated) << "an event of a capture was asked after";
  std::set<int> ends;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulator::set_seed(test_seed() + seed);
    const CapturedGraph again(apart_, [&] {
      put(apart_, 0, one_);
      cu.event_record(fork, apart_);
      cu.stream_wait(stream_, fork, 0);
      move(stream_, 1, 0);
      put(stream_, 2, one_);
      put(apart_, 2, two_);
      cu.event_record(join, stream_);
      EXPECT_EQ(cu.stream_wait(apart_, join, 0), kSuccess);
      move(apart_, 3, 1);
    });
    EXPECT_EQ(again.result(), kSuccess);
    again.launch(apart_);
    EXPECT_EQ(synchronize(apart_), kSuccess);
    EXPECT_EQ(value(3), 1);
    ends.insert(value(2));
  }
  EXPECT_EQ(ends, (std::set<int>{1, 2})) << "seed " << test_seed();
  for (void* event : {fork, join}) EXPECT_EQ(cu.event_destroy(event), kSuccess);
}

TEST_F(FakeStreams, WhatACaptureForbids) {
  void* const event = new_event();
  cuda::DevicePointer memory = 0;
  const auto expect_end = [&](void* stream, int expected, const std::function<void()>& mistake) {
    const long before = emulator::counters().capture_violations;
    EXPECT_EQ(CapturedGraph(stream, mistake).result(), expected);
    EXPECT_EQ(emulator::counters().capture_violations - before, expected == kUnjoined ? 0 : 1);
  };
  expect_end(apart_, kInvalidated, [&] { EXPECT_EQ(synchronize(apart_), kUnsupported); });
  expect_end(apart_, kInvalidated, [&] { EXPECT_EQ(cu.stream_query(apart_), kUnsupported); });
  expect_end(apart_, kInvalidated, [&] { EXPECT_EQ(cu.context_synchronize(), kUnsupported); });
  expect_end(apart_, kInvalidated,
             [&] { EXPECT_EQ(cuda::driver().memory_allocate(&memory, 4), kUnsupported); });
  expect_end(stream_, kInvalidated, [&] { EXPECT_EQ(put(nullptr, 0, one_), kImplicit); });
  cu.event_record(event, stream_);
  expect_end(apart_, kInvalidated,
             [&] { EXPECT_EQ(cu.stream_wait(apart_, event, 0), kIsolation); });
  expect_end(apart_, kUnjoined, [&] {
    put(apart_, 0, one_);
    cu.event_record(event, apart_);
    cu.stream_wait(stream_, event, 0);
    put(stream_, 1, one_);
  });
  EXPECT_EQ(cu.begin_capture(nullptr, 0), kUnsupported);
  // Other streams go on, the legacy one too where a non-blocking stream is captured.
  const CapturedGraph fine(apart_, [&] {
    put(nullptr, 0, two_);
    EXPECT_EQ(synchronize(nullptr), kSuccess);
  });
  EXPECT_EQ(fine.result(), kSuccess);
  EXPECT_EQ(value(0), 2);
  EXPECT_EQ(cu.event_destroy(event), kSuccess);
}

TEST_F(FakeStreams, AFaultStays) {
  cuda::DevicePointer gone = 0;
  ASSERT_EQ(cuda::driver().memory_allocate(&gone, sizeof(int)), kSuccess);
  EXPECT_EQ(cuda::driver().copy_to_device(gone, &one_, sizeof one_, stream_of(apart_)), kSuccess);
  EXPECT_EQ(cuda::driver().memory_free(gone), kSuccess);
  EXPECT_EQ(put(apart_, 0, one_), kSuccess) << "nobody knows yet";
  EXPECT_EQ(synchronize(apart_), kFailed);
  EXPECT_NE(cuda::driver().words(kFailed).find("a copy outside all memory"), std::string::npos);
  EXPECT_EQ(put(stream_, 0, one_), kFailed);
  EXPECT_EQ(synchronize(nullptr), kFailed);
  EXPECT_EQ(value(0), 0) << "done behind a fault";
  emulator::reset();
  EXPECT_EQ(put(stream_, 0, one_), kSuccess);
  EXPECT_EQ(synchronize(stream_), kSuccess);
}

TEST_F(FakeStreams, HeldStreamsHoldWhatWaitsForThem) {
  put(stream_, 0, one_);
  emulator::hold(stream_, true);
  EXPECT_EQ(synchronize(stream_), kHeld);
  EXPECT_EQ(synchronize(nullptr), kSuccess) << "nothing queued in it";
  put(nullptr, 1, one_);
  EXPECT_EQ(synchronize(nullptr), kHeld);
  put(apart_, 2, one_);
  EXPECT_EQ(synchronize(apart_), kSuccess);
  emulator::hold(stream_, false);
  EXPECT_EQ(synchronize(nullptr), kSuccess);
  EXPECT_EQ(value(0) + value(1) + value(2), 3);
}

TEST_F(FakeStreams, DestroyedStreamsEndTheirWork) {
  put(stream_, 0, one_);
  EXPECT_EQ(cu.stream_destroy(stream_), kSuccess);
  EXPECT_EQ(put(stream_, 0, two_), kInvalidHandle);
  EXPECT_EQ(value(0), 0);
  EXPECT_EQ(cu.context_synchronize(), kSuccess);
  EXPECT_EQ(value(0), 1);
  EXPECT_EQ(cu.stream_destroy(nullptr), kInvalidHandle);
}

}  // namespace
}  // namespace fuseplan::test
