// SPDX-License-Identifier: MIT
// The CUDA back end's work and the streams: it lands on the caller's, waits for nothing that it was
// not asked to wait for, and everything that it was.
#include <cstring>
#include <thread>

#include "driver_calls.hpp"
#include "emulated.hpp"

namespace fuseplan::test {
namespace {

const char* const kConv =
    "f32:1x8x6x6:nchw;conv(f32:8x8x3x3,pad=1x1);bias(f32:1x8x1x1);activation(relu)";
const char* const kPointwise = "f32:1x8x6x6:nchw;bias(f32:1x8x1x1);activation(relu)";
const char* const kNorm = "f16:4x24x8x16:nhwc;norm_training(spatial,f32:1x24x1x1)";
const char* const kInChunks = "--cache=mem --pin=gpu_norm:chunks";  // three launches

void* const kLegacy = reinterpret_cast<void*>(1);
void* const kPerThread = reinterpret_cast<void*>(2);

void set_stream(const Handle& handle, void* stream) {
  driver::check(fuseplanSetStream(handle.get(), stream));
}

/// A compiled problem on a stream of its own, whose output holds what nothing computes.
struct Queued {
  Handle handle;
  EmulatedCase c;

  Queued(const char* problem, void* stream, const char* options = "--cache=mem")
      : handle(emulated_handle(options)), c(driver::parse_problem(problem)) {
    c.compile(handle.get());
    set_stream(handle, stream);
  }
  void launch() { c.launch(handle.get()); }
  fuseplanStatus_t synchronize() { return fuseplanSynchronize(handle.get()); }
  void expect_right(const char* where) {
    const Comparison comparison = c.compare();
    EXPECT_TRUE(comparison.ok()) << where << ": " << comparison.describe();
  }
};

class StreamOrder : public testing::Test {
 protected:
  StreamOrder() {
    emulator::reset();
    emulator::set_seed(test_seed());
  }
  ~StreamOrder() { emulator::reset(); }

  const Handle keeps_ = emulated_handle();  // what has been compiled
  void* const stream_ = emulator::new_stream(true);
  void* const apart_ = emulator::new_stream(false);
  void* const other_ = emulator::new_stream(false);
};

TEST_F(StreamOrder, WorkLandsOnTheCallersStreamAndNowhereElse) {
  struct Plan {
    const char *problem, *options;
    std::size_t launches;
  };
  const Plan kPlans[] = {
      {kConv, "--cache=mem", 1}, {kPointwise, "--cache=mem", 1}, {kNorm, kInChunks, 3}};
  for (const Plan& plan : kPlans)
    for (void* stream : {static_cast<void*>(nullptr), kLegacy, kPerThread, stream_, apart_}) {
      SCOPED_TRACE(plan.problem);
      Queued work(plan.problem, stream, plan.options);
      emulator::reset();
      const HostTensor before = work.c.output();
      work.launch();
      EXPECT_EQ(emulator::counters().waits, 0);
      for (const emulator::LaunchRecord& launch : emulator::counters().launches)
        EXPECT_EQ(launch.stream, stream);
      const auto is_its = [&](void* s) { return s == stream || (stream == kLegacy && !s); };
      for (void* s : {static_cast<void*>(nullptr), kPerThread, stream_, apart_, other_})
        EXPECT_EQ(emulator::pending(s), is_its(s) ? plan.launches : 0u);
      EXPECT_EQ(std::memcmp(before.data(), work.c.output().data(), before.bytes()), 0)
          << "done before anything waited";
      EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess);
      work.expect_right("after waiting");
    }
}

TEST_F(StreamOrder, RefusesStreamsOfOtherContexts) {
  Queued work(kPointwise, emulator::foreign_stream());
  emulator::reset();
  for (const auto& call : std::initializer_list<std::function<fuseplanStatus_t()>>{
           [&] {
             return fuseplanExecutePlan(work.handle.get(), work.c.plan(), work.c.input_desc(),
                                        work.c.input().data(), work.c.output_desc(),
                                        work.c.output().data(), work.c.args());
           },
           [&] { return work.synchronize(); },
           [&] {
             return fuseplanCopy(work.handle.get(), work.c.output().data(), work.c.input().data(),
                                 4, fuseplanCopyOnDevice);
           }}) {
    EXPECT_EQ(call(), fuseplanStatusBadParm);
    const std::string said = fuseplanGetLastErrorMessage();
    EXPECT_NE(said.find("another device or context"), std::string::npos) << said;
  }
  EXPECT_TRUE(emulator::counters().launches.empty());
}

// Nothing on the stream goes on, nor on the legacy one: whoever waited would never come back.
TEST_F(StreamOrder, ExecuteWaitsForNothing) {
  for (const char* options : {"--cache=mem", kInChunks}) {
    Queued work(options == kInChunks ? kNorm : kConv, apart_, options);
    emulator::reset();
    for (void* stream : {apart_, static_cast<void*>(nullptr)}) emulator::hold(stream, true);
    for (int i = 0; i < 3; ++i) work.launch();
    EXPECT_EQ(emulator::counters().waits, 0);
    EXPECT_EQ(emulator::pending(apart_), emulator::counters().launches.size());
    EXPECT_EQ(work.synchronize(), fuseplanStatusInternalError) << "it is held";
    emulator::hold(apart_, false);
    EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess);
  }
}

// After what the handle's stream holds, whatever else is going on, and done on return.
TEST_F(StreamOrder, CopiesAreInOrderWithTheStream) {
  for (void* stream : {stream_, apart_}) {
    Queued work(kPointwise, stream);
    const std::size_t bytes = work.c.output().bytes();
    emulator::reset();
    if (stream == apart_) emulator::hold(nullptr, true);  // the copies do not need it
    void *input = nullptr, *output = nullptr, *copy = nullptr;
    for (void** memory : {&input, &output, &copy})
      driver::check(fuseplanMalloc(work.handle.get(), bytes, memory));
    HostTensor source = work.c.input(), result = work.c.output();
    driver::check(
        fuseplanCopy(work.handle.get(), input, source.data(), bytes, fuseplanCopyToDevice));
    std::memset(source.data(), 0xff, bytes);  // may be anything now
    work.c.launch(work.handle.get(), input, output);
    driver::check(fuseplanCopy(work.handle.get(), copy, output, bytes, fuseplanCopyOnDevice));
    EXPECT_EQ(emulator::pending(stream), 0u) << "a copy has returned before it was done";
    work.c.launch(work.handle.get(), input, output);
    driver::check(
        fuseplanCopy(work.handle.get(), work.c.output().data(), output, bytes, fuseplanCopyToHost));
    work.expect_right("to the host");
    driver::check(
        fuseplanCopy(work.handle.get(), work.c.output().data(), copy, bytes, fuseplanCopyToHost));
    work.expect_right("on the device");
    // The execution that is queued reads the input that was there.
    work.c.launch(work.handle.get(), input, output);
    driver::check(
        fuseplanCopy(work.handle.get(), input, source.data(), bytes, fuseplanCopyToDevice));
    driver::check(
        fuseplanCopy(work.handle.get(), work.c.output().data(), output, bytes, fuseplanCopyToHost));
    work.expect_right("before its input changed");
    for (void* memory : {input, output, copy})
      driver::check(fuseplanFree(work.handle.get(), memory));
    emulator::hold(nullptr, false);
  }
}

// Later calls use it; what is queued stays where it is, and nobody waits for the change.
TEST_F(StreamOrder, SettingTheStreamMovesLaterCallsOnly) {
  Queued work(kConv, apart_);
  EmulatedCase second(driver::parse_problem(kConv), {.stream = 1});
  second.compile(work.handle.get());
  emulator::reset();
  emulator::hold(apart_, true);
  work.launch();
  set_stream(work.handle, other_);
  EXPECT_EQ(emulator::counters().waits, 0);
  EXPECT_EQ(emulator::pending(apart_), 1u);
  second.launch(work.handle.get());
  EXPECT_EQ(emulator::pending(other_), 1u);
  EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess) << fuseplanGetLastErrorMessage();
  EXPECT_TRUE(second.compare().ok()) << second.compare().describe();
  EXPECT_EQ(emulator::pending(apart_), 1u);
  void* now = nullptr;
  driver::check(fuseplanGetStream(work.handle.get(), &now));
  EXPECT_EQ(now, other_);
  emulator::hold(apart_, false);
  set_stream(work.handle, apart_);
  EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess);
  work.expect_right("on the first stream");
}

// Everything that a program does with one, from its creation on, while the other's stream stands.
TEST_F(StreamOrder, TwoHandlesDoNotWaitForEachOther) {
  Queued stands(kConv, apart_);
  emulator::reset();
  emulator::hold(apart_, true);
  stands.launch();
  const auto handle = driver::make<Handle>(fuseplanCreateForDeviceWithStream, "cuda:0", other_);
  driver::check(fuseplanSetOptions(handle.get(), "--cache=mem --find_mode=normal --tune_ms=50"));
  driver::check(fuseplanEnableProfiling(handle.get(), true));
  EmulatedCase goes(driver::parse_problem(kPointwise));
  void* memory = nullptr;
  driver::check(fuseplanMalloc(handle.get(), goes.output().bytes(), &memory));
  goes.compile(handle.get());
  goes.execute(handle.get());
  driver::check(fuseplanCopy(handle.get(), memory, goes.output().data(), goes.output().bytes(),
                             fuseplanCopyOnDevice));
  driver::check(fuseplanCopy(handle.get(), goes.output().data(), memory, goes.output().bytes(),
                             fuseplanCopyToHost));
  EXPECT_TRUE(goes.compare().ok()) << goes.compare().describe();
  driver::check(fuseplanFree(handle.get(), memory));
  EXPECT_EQ(emulator::pending(apart_), 1u);
  emulator::hold(apart_, false);
  EXPECT_EQ(stands.synchronize(), fuseplanStatusSuccess);
  stands.expect_right("the one that stood");
}

TEST_F(StreamOrder, EventsOrderExecutionsOnSeveralStreams) {
  const DriverCalls& cu = driver_calls();
  for (auto progress : {emulator::Progress::late, emulator::Progress::any}) {
    Queued first(kPointwise, apart_), second(kPointwise, other_);
    emulator::set_progress(progress);
    // The second reads what the first writes: relu(relu(x + b) + b) by the first's bias.
    void* event = nullptr;
    {
      const OnDevice current;
      EXPECT_EQ(cu.event_create(&event, 0), 0);
      first.launch();
      EXPECT_EQ(cu.event_record(event, apart_), 0);
      EXPECT_EQ(cu.stream_wait(other_, event, 0), 0);
    }
    second.c.launch(second.handle.get(), first.c.output().data(), second.c.output().data());
    EXPECT_EQ(second.synchronize(), fuseplanStatusSuccess);
    first.expect_right("the stream that was waited for");
    second.c.input().set_values(first.c.output().values());
    second.expect_right("the stream that waited");
    const OnDevice current;
    EXPECT_EQ(cu.event_destroy(event), 0);
  }
}

// Captured in any mode, and replayed with what its tensors hold then, on other streams too.
TEST_F(StreamOrder, GraphsOfExecutionsAreReplayed) {
  for (const char* options : {"--cache=mem", kInChunks}) {
    Queued work(options == kInChunks ? kNorm : kConv, apart_, options);
    emulator::reset();
    const CapturedGraph graph(apart_, [&] { work.launch(); });
    EXPECT_EQ(graph.result(), 0);
    EXPECT_EQ(emulator::counters().capture_violations, 0);
    EXPECT_EQ(emulator::pending(apart_), 0u);
    HostTensor first = work.c.output();
    for (void* stream : {apart_, stream_, other_}) {
      std::memset(work.c.output().data(), 0xff, work.c.output().bytes());
      graph.launch(stream);
      set_stream(work.handle, stream);
      EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess);
      if (stream == apart_) work.expect_right("replayed");
      if (stream == apart_) first = work.c.output();
      EXPECT_EQ(std::memcmp(work.c.output().data(), first.data(), first.bytes()), 0);
    }
  }
  Queued work(kConv, apart_);
  const CapturedGraph graph(apart_, [&] { work.launch(); });
  std::vector<double> values = work.c.input().values();
  for (double& value : values) value = 1 - value;
  work.c.input().set_values(values);  // before the reference has seen them
  graph.launch(apart_);
  EXPECT_EQ(work.synchronize(), fuseplanStatusSuccess);
  work.expect_right("replayed with another input");
}

// Waiting and allocating in a capture: a status and a sentence.
TEST_F(StreamOrder, WhatACaptureForbidsIsSaid) {
  Queued work(kConv, apart_);
  void* memory = nullptr;
  const std::function<fuseplanStatus_t()> kCalls[] = {
      [&] { return fuseplanMalloc(work.handle.get(), 16, &memory); },
      [&] { return work.synchronize(); },
      [&] {
        return fuseplanCopy(work.handle.get(), work.c.output().data(), work.c.input().data(), 4,
                            fuseplanCopyToDevice);
      }};
  for (const auto& call : kCalls) {
    const CapturedGraph graph(apart_, [&] {
      EXPECT_EQ(call(), fuseplanStatusBadParm);
      const std::string said = fuseplanGetLastErrorMessage();
      EXPECT_NE(said.find("(900)"), std::string::npos) << said;
    });
    EXPECT_NE(graph.result(), 0);
  }
}

// What kernels do wrong is said by the call that waits for them, and by all later ones.
TEST_F(StreamOrder, FaultsComeWithTheWait) {
  Queued work(kPointwise, apart_);
  emulator::reset();
  emulator::know_memory(work.c.output().data(), 0);
  work.launch();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(work.synchronize(), fuseplanStatusInternalError);
    const std::string said = fuseplanGetLastErrorMessage();
    EXPECT_NE(said.find("outside all memory"), std::string::npos) << said;
  }
}

/// A plan of one op without parameters, to be destroyed while the tensors stay.
struct Short {
  driver::Plan plan = driver::make<driver::Plan>(fuseplanCreatePlanFromString, kText);
  driver::Args args = driver::make<driver::Args>(fuseplanCreateOperatorArgs);
  static constexpr const char* kText = "f32:1x8x6x6:nchw;activation(abs)";

  void launch(const Handle& handle, Case& c) {
    fuseplanOp_t op = nullptr;
    driver::check(fuseplanPlanGetOp(plan.get(), 0, &op));
    driver::check(fuseplanSetOpArgsActivForward(args.get(), op, nullptr, nullptr, 0, 0, 0));
    driver::check(fuseplanCompilePlan(handle.get(), plan.get()));
    driver::check(fuseplanExecutePlan(handle.get(), plan.get(), c.input_desc(), c.input_at(),
                                      c.output_desc(), c.output_at(), args.get()));
  }
};

// A plan may be compiled again, or go, while its kernels are queued.
TEST_F(StreamOrder, PlansMayGoBeforeTheirWork) {
  const Handle handle = emulated_handle("--cache=off");
  set_stream(handle, apart_);
  EmulatedCase c(driver::parse_problem(Short::kText));
  auto plan = std::make_unique<Short>();
  emulator::reset();
  plan->launch(handle, c);
  EXPECT_EQ(emulator::pending(apart_), 1u);
  plan->launch(handle, c);  // compiled anew: the first kernel is not needed any more
  plan.reset();
  EXPECT_EQ(emulator::counters().modules, 0);
  EXPECT_EQ(fuseplanSynchronize(handle.get()), fuseplanStatusSuccess)
      << fuseplanGetLastErrorMessage();
  EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
}

// The driver forbids to wait then, and so nothing is unloaded.
TEST_F(StreamOrder, APlanThatGoesDuringACaptureLeavesItsModule) {
  const Handle handle = emulated_handle("--cache=off");
  set_stream(handle, other_);
  EmulatedCase c(driver::parse_problem(Short::kText));
  auto plan = std::make_unique<Short>();
  plan->launch(handle, c);
  constexpr int kRelaxed = 2, kInvalidated = 901;
  const DriverCalls& cu = driver_calls();
  const OnDevice current;
  void* graph = nullptr;
  emulator::reset();
  EXPECT_EQ(cu.begin_capture(apart_, kRelaxed), 0);
  plan.reset();
  EXPECT_EQ(emulator::counters().modules, 0) << "neither unloaded nor loaded";
  EXPECT_EQ(cu.end_capture(apart_, &graph), kInvalidated);
}

TEST_F(StreamOrder, ThreadsWithStreamsOfTheirOwn) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulator::set_progress(emulator::Progress::any);
    emulator::set_seed(test_seed() + seed);
    std::vector<std::string> wrong(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          void* const streams[] = {stream_, apart_, kPerThread, nullptr};
          Queued work(t % 2 == 0 ? kConv : kPointwise, streams[t]);
          for (int i = 0; i < 3; ++i) work.launch();
          driver::check(work.synchronize());
          if (!work.c.compare().ok()) wrong[t] = work.c.compare().describe();
        } catch (const driver::ApiError& error) {
          wrong[t] = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& what : wrong) EXPECT_EQ(what, "") << "seed " << test_seed() + seed;
  }
}

}  // namespace
}  // namespace fuseplan::test
