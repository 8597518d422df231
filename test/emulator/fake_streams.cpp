// SPDX-License-Identifier: MIT
#include "fake_streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "state.hpp"

namespace fuseplan::emulator {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr cuda::Result kInvalidValue = 1;

FakeStream* own_default_stream(std::vector<std::unique_ptr<FakeStream>>& all) {
  static thread_local FakeStream* mine = nullptr;
  if (mine == nullptr)
    mine = all.emplace_back(std::make_unique<FakeStream>(primary_context(), true)).get();
  return mine;
}

/// "early", "any" or, by default, late.
Progress chosen_progress() {
  const char* text = std::getenv("FUSEPLAN_FAKE_PROGRESS");
  const std::string_view chosen = text == nullptr ? "late" : text;
  return chosen == "early" ? Progress::early : chosen == "any" ? Progress::any : Progress::late;
}

void count_wait() {
  const std::lock_guard lock(state().mutex);
  ++state().counters.waits;
}

}  // namespace

Queues::Queues() : progress_(chosen_progress()) {}

Queues& queues() {
  static Queues& queues = *new Queues;
  return queues;
}

// NULL and 1 are the legacy default stream, 2 the calling thread's own.
FakeStream* Queues::find(cuda::Stream stream) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  if (number == 2) return own_default_stream(streams_);
  if (number < 2) {
    if (legacy_ == nullptr)
      legacy_ = streams_.emplace_back(std::make_unique<FakeStream>(primary_context(), true)).get();
    return legacy_;
  }
  for (const auto& known : streams_)
    if (known.get() == reinterpret_cast<FakeStream*>(stream) && !known->destroyed)
      return known.get();
  return nullptr;
}

/// For everything that is done in a stream: the stream, unless the device has failed or a blocking
/// stream's capture forbids the legacy one.
Queues::Result Queues::enter(cuda::Stream stream, FakeStream*& found) {
  if (!fault_.empty()) return kLaunchFailed;
  found = find(stream);
  if (found == nullptr) return kInvalidHandle;
  if (found != legacy_) return cuda::kSuccess;
  for (const auto& other : streams_)
    if (other->blocking && other->place.capture != nullptr)
      return invalidate(*other->place.capture, kCaptureImplicit);
  return cuda::kSuccess;
}

Queues::Result Queues::create(cuda::Stream* stream, cuda::Context context, unsigned flags) {
  if (flags > kNonBlocking) return kInvalidValue;
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::make_unique<FakeStream>(context, flags != kNonBlocking));
  *stream = reinterpret_cast<cuda::Stream>(streams_.back().get());
  return cuda::kSuccess;
}

/// What it holds is still done, and others may wait for that: so it is only not found any more.
Queues::Result Queues::destroy(cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = find(stream);
  if (found == nullptr || reinterpret_cast<std::uintptr_t>(stream) <= 2) return kInvalidHandle;
  found->destroyed = true;
  return cuda::kSuccess;
}

Queues::Result Queues::context_of(cuda::Stream stream, cuda::Context* context) {
  const std::lock_guard lock(mutex_);
  const FakeStream* found = find(stream);
  if (found == nullptr) return kInvalidHandle;
  *context = found->context;
  return cuda::kSuccess;
}

Queues::Result Queues::enqueue(cuda::Stream stream, Work work) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  return enqueue(*found, std::move(work), {});
}

Queues::Result Queues::enqueue(FakeStream& stream, Work work, std::vector<Point> after) {
  if (stream.place.capture != nullptr) return append(stream.place, std::move(work));
  if (&stream == legacy_) {
    for (const auto& other : streams_)
      if (other.get() != legacy_ && other->blocking) after.push_back({other.get(), other->queued});
  } else if (stream.blocking && legacy_ != nullptr) {
    after.push_back({legacy_, legacy_->queued});
  }
  stream.waiting.push_back({std::move(work), std::move(after)});
  ++stream.queued;
  if (progress_ != Progress::early) return cuda::kSuccess;
  const Result result = finish({&stream, stream.queued});
  return result == kHeld ? cuda::kSuccess : result;
}

void Queues::do_first(FakeStream& stream) {
  const FakeStream::Item item = std::move(stream.waiting.front());
  stream.waiting.pop_front();
  ++stream.done;
  if (fault_.empty()) fault_ = item.work();
}

// What an item comes after was queued before it, so this ends.
Queues::Result Queues::finish(Point point) {
  while (point.stream->done < point.number) {
    if (point.stream->held) return kHeld;
    for (const Point& before : point.stream->waiting.front().after)
      if (finish(before) == kHeld) return kHeld;
    do_first(*point.stream);
  }
  return fault_.empty() ? cuda::kSuccess : kLaunchFailed;
}

Queues::Result Queues::finish_all() {
  for (const auto& stream : streams_)
    if (const Result result = finish({stream.get(), stream->queued})) return result;
  return cuda::kSuccess;
}

/// Whoever asks again and again gets there; nobody gets there by asking once.
Queues::Result Queues::poll(Point point) {
  constexpr unsigned kOnce = 4;  // in so many times something is done
  if (point.stream->done >= point.number) return fault_.empty() ? cuda::kSuccess : kLaunchFailed;
  if (random_() % kOnce == 0)
    if (const Result result = finish({point.stream, point.stream->done + 1}); result != kHeld)
      return result == cuda::kSuccess ? kNotReady : result;
  return kNotReady;
}

Queues::Result Queues::synchronize(cuda::Stream stream) {
  count_wait();
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  if (const Result result = misuse(found->place, cuda::kCaptureUnsupported)) return result;
  return finish({found, found->queued});
}

Queues::Result Queues::synchronize_all() {
  count_wait();
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_)
    if (const Result result = misuse(stream->place, cuda::kCaptureUnsupported)) return result;
  return fault_.empty() ? finish_all() : kLaunchFailed;
}

Queues::Result Queues::query(cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  if (const Result result = misuse(found->place, cuda::kCaptureUnsupported)) return result;
  return poll({found, found->queued});
}

Queues::Result Queues::record(const Event& event, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  event->place = found->place;
  if (event->place.capture != nullptr) return cuda::kSuccess;
  const auto note = [event] {
    event->time = std::chrono::steady_clock::now();
    return std::string();
  };
  const Result result = enqueue(*found, note, {});
  event->at = {found, found->queued};
  return result;
}

Queues::Result Queues::wait(cuda::Stream stream, const Event& event) {
  const std::lock_guard lock(mutex_);
  FakeStream* found = nullptr;
  if (const Result result = enter(stream, found)) return result;
  if (event->place.capture != nullptr || found->place.capture != nullptr)
    return join(found->place, *event);
  if (event->at.stream == nullptr) return cuda::kSuccess;
  return enqueue(*found, [] { return std::string(); }, {event->at});
}

Queues::Result Queues::synchronize(const Event& event) {
  count_wait();
  const std::lock_guard lock(mutex_);
  if (const Result result = misuse(event->place, kCapturedEvent)) return result;
  return event->at.stream == nullptr ? cuda::kSuccess : finish(event->at);
}

Queues::Result Queues::query(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (const Result result = misuse(event->place, kCapturedEvent)) return result;
  return event->at.stream == nullptr ? cuda::kSuccess : poll(event->at);
}

Queues::Result Queues::elapsed(const Event& begin, const Event& end, float* ms) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : {begin, end}) {
    if (!event->timed || event->at.stream == nullptr) return kInvalidHandle;
    if (event->at.stream->done < event->at.number) return kNotReady;
  }
  *ms = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cuda::kSuccess;
}

void Queues::advance() {
  const std::lock_guard lock(mutex_);
  if (progress_ != Progress::any || streams_.empty()) return;
  for (unsigned times = random_() % 3; times > 0; --times) {
    FakeStream& stream = *streams_[random_() % streams_.size()];
    if (!stream.waiting.empty()) (void)finish({&stream, stream.done + 1});
  }
}

void Queues::settle() {
  const std::lock_guard lock(mutex_);
  for (const auto& capture : std::vector(captures_)) abandon(capture);
  for (const auto& stream : streams_) stream->held = false;
  (void)finish_all();
  fault_.clear();
  progress_ = chosen_progress();
}

std::string Queues::fault() {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void Queues::set_progress(Progress progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

void Queues::set_seed(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  random_.seed(seed);
}

void Queues::hold(cuda::Stream stream, bool on) {
  const std::lock_guard lock(mutex_);
  find(stream)->held = on;
}

std::size_t Queues::pending(cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  return find(stream)->waiting.size();
}

}  // namespace fuseplan::emulator
