// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/driver.hpp"
#include "control.hpp"

namespace fuseplan::emulator {

// CUresult
inline constexpr cuda::Result kInvalidHandle = 400, kNotReady = 600, kHeld = 702,
                              kLaunchFailed = 719, kCaptureImplicit = 906, kCapturedEvent = 907;

/// What a stream holds: done later, once for each time it was queued. Empty, or what went wrong.
using Work = std::function<std::string()>;

struct FakeStream;
/// Everything that a stream held at some moment.
struct Point {
  FakeStream* stream = nullptr;
  std::uint64_t number = 0;
};

/// Work with what must be done before it; each node's predecessors have lower numbers.
struct Graph {
  struct Node {
    Work work;
    std::vector<std::size_t> after;
  };
  std::vector<Node> nodes;
};

struct Capture;
/// Where a captured stream or event stands in its graph.
struct Place {
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> tips;  ///< nodes that nothing follows yet
};

/// Guarded by the queues' mutex, but for what never changes.
struct FakeStream {
  FakeStream(cuda::Context of, bool keeps_order) : context(of), blocking(keeps_order) {}

  const cuda::Context context;
  const bool blocking;  ///< keeps order with the legacy default stream
  bool held = false, destroyed = false;
  struct Item {
    Work work;
    std::vector<Point> after;
  };
  std::deque<Item> waiting;
  std::uint64_t queued = 0, done = 0;
  Place place;
};

struct FakeEvent {
  bool timed = true;
  Point at;     ///< what it was recorded behind
  Place place;  ///< if that was in a capture
  std::chrono::steady_clock::time_point time;
};

/// The device's streams. Work is done when something waits for it and no sooner, unless
/// set_progress() says otherwise; then only in an order that the driver promises: that of its
/// stream, of the events that it waits for, and of the legacy default stream, which waits for all
/// blocking streams and they for it. A fault stays: every later call reports it.
class Queues {
 public:
  using Result = cuda::Result;

  Queues();

  Result create(cuda::Stream* stream, cuda::Context context, unsigned flags);
  Result destroy(cuda::Stream stream);
  Result context_of(cuda::Stream stream, cuda::Context* context);

  Result enqueue(cuda::Stream stream, Work work);
  Result synchronize(cuda::Stream stream);
  Result synchronize_all();
  Result query(cuda::Stream stream);

  using Event = std::shared_ptr<FakeEvent>;
  Result record(const Event& event, cuda::Stream stream);
  Result wait(cuda::Stream stream, const Event& event);
  Result synchronize(const Event& event);
  Result query(const Event& event);
  Result elapsed(const Event& begin, const Event& end, float* ms);

  Result begin_capture(cuda::Stream stream, int mode);
  Result end_capture(cuda::Stream stream, std::shared_ptr<const Graph>* graph);
  Result is_capturing(cuda::Stream stream, int* status);
  /// Ends every capture that forbids this thread calls such as allocating; 900 if there is one.
  Result unsafe_call();
  Result launch(std::shared_ptr<const Graph> graph, cuda::Stream stream);

  /// What may have been done meanwhile. Every call of the driver begins with it.
  void advance();
  /// Ends captures, does what is queued, and forgets faults and holds.
  void settle();
  std::string fault();

  void set_progress(Progress progress);
  void set_seed(std::uint64_t seed);
  void hold(cuda::Stream stream, bool on);
  std::size_t pending(cuda::Stream stream);

 private:
  FakeStream* find(cuda::Stream stream);
  Result enter(cuda::Stream stream, FakeStream*& found);
  Result enqueue(FakeStream& stream, Work work, std::vector<Point> after);
  Result finish(Point point);
  Result finish_all();
  Result poll(Point point);
  void do_first(FakeStream& stream);
  // In fake_graphs.cpp.
  Result append(Place& place, Work work);
  Result join(Place& place, const FakeEvent& event);
  Result invalidate(Capture& capture, Result why);
  Result misuse(const Place& place, Result why);
  void abandon(const std::shared_ptr<Capture>& capture);

  std::mutex mutex_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::vector<std::shared_ptr<Capture>> captures_;  ///< that have begun and not ended
  FakeStream* legacy_ = nullptr;
  Progress progress_;
  std::mt19937_64 random_{1};
  std::string fault_;
};
Queues& queues();

/// The one context that work can be queued in, and another.
cuda::Context primary_context();
cuda::Context other_context();

/// What every function of the driver does first, and those that need a current context.
enum Safety { safe, unsafe_in_capture };
cuda::Result enter(Safety safety = safe);
cuda::Result enter_context(Safety safety = safe);

}  // namespace fuseplan::emulator
