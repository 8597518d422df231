// SPDX-License-Identifier: MIT
// Captures of the stand-in's streams, and graphs, whose nodes are done in any order that their
// edges allow.
#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "fake_streams.hpp"
#include "state.hpp"

namespace fuseplan::emulator {

struct Capture {
  const FakeStream* origin;
  int mode;
  std::thread::id thread;
  Graph graph;
  bool invalid = false;
};

namespace {

// CUstreamCaptureMode, CUresult
enum Mode { kGlobal, kThreadLocal, kRelaxed };
constexpr cuda::Result kInvalidValue = 1, kInvalidated = 901, kMerge = 902, kUnmatched = 903,
                       kUnjoined = 904, kIsolation = 905, kWrongThread = 908;

/// Whether all nodes are among `tips` and what comes before them.
bool reach_all(const Graph& graph, const std::vector<std::size_t>& tips) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (std::size_t tip : tips) reached[tip] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    if (reached[i])
      for (std::size_t before : graph.nodes[i].after) reached[before] = true;
  return std::ranges::count(reached, false) == 0;
}

std::string replay(const Graph& graph, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> done(graph.nodes.size(), false);
  std::vector<std::size_t> left(graph.nodes.size()), ready;
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    ready.clear();
    for (std::size_t node : left)
      if (std::ranges::all_of(graph.nodes[node].after, [&](std::size_t i) { return done[i]; }))
        ready.push_back(node);
    const std::size_t node = ready[random() % ready.size()];
    if (std::string fault = graph.nodes[node].work(); !fault.empty()) return fault;
    done[node] = true;
    std::erase(left, node);
  }
  return {};
}

}  // namespace

Queues::Result Queues::append(Place& place, Work work) {
  if (place.capture->invalid) return kInvalidated;
  std::vector<Graph::Node>& nodes = place.capture->graph.nodes;
  nodes.push_back({std::move(work), place.tips});
  place.tips = {nodes.size() - 1};
  return cuda::kSuccess;
}

/// What the stream is given from now on comes after the event. A stream that does not capture
/// begins to by waiting for a captured event.
Queues::Result Queues::join(Place& place, const FakeEvent& event) {
  const Place& other = event.place;
  if (other.capture == nullptr)
    return event.at.stream == nullptr ? cuda::kSuccess : invalidate(*place.capture, kIsolation);
  if (std::ranges::find(captures_, other.capture) == captures_.end()) return kIsolation;
  if (place.capture == nullptr) {
    place = other;
    return cuda::kSuccess;
  }
  if (place.capture != other.capture) {
    (void)invalidate(*other.capture, kMerge);
    return invalidate(*place.capture, kMerge);
  }
  for (std::size_t tip : other.tips)
    if (std::ranges::find(place.tips, tip) == place.tips.end()) place.tips.push_back(tip);
  return cuda::kSuccess;
}

Queues::Result Queues::invalidate(Capture& capture, Result why) {
  capture.invalid = true;
  const std::lock_guard lock(state().mutex);
  ++state().counters.capture_violations;
  return why;
}

/// Waiting for what is captured, which will not happen now.
Queues::Result Queues::misuse(const Place& place, Result why) {
  return place.capture == nullptr ? cuda::kSuccess : invalidate(*place.capture, why);
}

void Queues::abandon(const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : streams_)
    if (stream->place.capture == capture) stream->place = {};
  std::erase(captures_, capture);
}

Queues::Result Queues::begin_capture(cuda::Stream stream, int mode) {
  if (mode < kGlobal || mode > kRelaxed) return kInvalidValue;
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  if (found == legacy_) return cuda::kCaptureUnsupported;
  if (found->place.capture != nullptr) return kInvalidValue;
  captures_.push_back(std::make_shared<Capture>(
      Capture{.origin = found, .mode = mode, .thread = std::this_thread::get_id(), .graph = {}}));
  found->place = {captures_.back(), {}};
  return cuda::kSuccess;
}

Queues::Result Queues::end_capture(cuda::Stream stream, std::shared_ptr<const Graph>* graph) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  const Place place = found->place;
  if (place.capture == nullptr) return kInvalidValue;
  if (place.capture->origin != found) return kUnmatched;
  if (place.capture->mode != kRelaxed && place.capture->thread != std::this_thread::get_id())
    return kWrongThread;
  abandon(place.capture);
  if (place.capture->invalid) return kInvalidated;
  if (!reach_all(place.capture->graph, place.tips)) return kUnjoined;
  *graph = std::make_shared<const Graph>(std::move(place.capture->graph));
  return cuda::kSuccess;
}

Queues::Result Queues::is_capturing(cuda::Stream stream, int* status) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  enum { none, active, invalidated };
  const Capture* capture = found->place.capture.get();
  *status = capture == nullptr ? none : capture->invalid ? invalidated : active;
  return cuda::kSuccess;
}

Queues::Result Queues::unsafe_call() {
  const std::lock_guard lock(mutex_);
  Result result = cuda::kSuccess;
  for (const auto& capture : captures_) {
    const bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == kGlobal || (capture->mode == kThreadLocal && mine))
      result = invalidate(*capture, cuda::kCaptureUnsupported);
  }
  return result;
}

Queues::Result Queues::launch(std::shared_ptr<const Graph> graph, cuda::Stream stream) {
  std::uint64_t seed = 0;
  {
    const std::lock_guard lock(mutex_);
    seed = random_();
  }
  return enqueue(stream, [graph = std::move(graph), seed] { return replay(*graph, seed); });
}

}  // namespace fuseplan::emulator
