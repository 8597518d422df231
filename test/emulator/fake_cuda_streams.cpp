// SPDX-License-Identifier: MIT
// The driver's functions for streams, events, captures and graphs, most of which fuseplan's own
// code does not use and programs around it do.
#include <cstddef>

#include "fake_streams.hpp"

namespace fuseplan::emulator {
namespace {

using cuda::Context, cuda::Result, cuda::Stream;

/// A handle is a pointer to one of these.
using Event = Queues::Event;
struct FakeGraph {
  std::shared_ptr<const Graph> graph;
};

constexpr unsigned kDisableTiming = 2;

template <typename T>
T& of(void* handle) {
  return *static_cast<T*>(handle);
}

}  // namespace

extern "C" {
FUSEPLAN_EMULATOR_API Result cuStreamCreate(Stream* stream, unsigned flags) {
  if (const Result result = enter_context()) return result;
  return queues().create(stream, primary_context(), flags);
}
FUSEPLAN_EMULATOR_API Result cuStreamDestroy_v2(Stream stream) {
  if (const Result result = enter_context()) return result;
  return queues().destroy(stream);
}
FUSEPLAN_EMULATOR_API Result cuStreamGetCtx(Stream stream, Context* context) {
  if (const Result result = enter()) return result;
  return queues().context_of(stream, context);
}
FUSEPLAN_EMULATOR_API Result cuStreamSynchronize(Stream stream) {
  if (const Result result = enter_context()) return result;
  return queues().synchronize(stream);
}
FUSEPLAN_EMULATOR_API Result cuCtxSynchronize() {
  if (const Result result = enter_context()) return result;
  return queues().synchronize_all();
}
FUSEPLAN_EMULATOR_API Result cuStreamQuery(Stream stream) {
  if (const Result result = enter_context()) return result;
  return queues().query(stream);
}

FUSEPLAN_EMULATOR_API Result cuEventCreate(void** event, unsigned flags) {
  if (const Result result = enter_context()) return result;
  auto made = std::make_shared<FakeEvent>();
  made->timed = (flags & kDisableTiming) == 0;
  *event = new Event(std::move(made));
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuEventDestroy_v2(void* event) {
  if (const Result result = enter_context()) return result;
  delete static_cast<Event*>(event);
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuEventRecord(void* event, Stream stream) {
  if (const Result result = enter_context()) return result;
  return queues().record(of<Event>(event), stream);
}
FUSEPLAN_EMULATOR_API Result cuStreamWaitEvent(Stream stream, void* event, unsigned) {
  if (const Result result = enter_context()) return result;
  return queues().wait(stream, of<Event>(event));
}
FUSEPLAN_EMULATOR_API Result cuEventSynchronize(void* event) {
  if (const Result result = enter_context()) return result;
  return queues().synchronize(of<Event>(event));
}
FUSEPLAN_EMULATOR_API Result cuEventQuery(void* event) {
  if (const Result result = enter_context()) return result;
  return queues().query(of<Event>(event));
}
FUSEPLAN_EMULATOR_API Result cuEventElapsedTime(float* ms, void* begin, void* end) {
  if (const Result result = enter_context()) return result;
  return queues().elapsed(of<Event>(begin), of<Event>(end), ms);
}

FUSEPLAN_EMULATOR_API Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  if (const Result result = enter_context()) return result;
  return queues().begin_capture(stream, mode);
}
FUSEPLAN_EMULATOR_API Result cuStreamEndCapture(Stream stream, void** graph) {
  *graph = nullptr;
  if (const Result result = enter_context()) return result;
  std::shared_ptr<const Graph> captured;
  if (const Result result = queues().end_capture(stream, &captured)) return result;
  *graph = new FakeGraph{std::move(captured)};
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuStreamIsCapturing(Stream stream, int* status) {
  if (const Result result = enter_context()) return result;
  return queues().is_capturing(stream, status);
}
FUSEPLAN_EMULATOR_API Result cuGraphInstantiateWithFlags(void** executable, void* graph,
                                                         unsigned long long) {
  if (const Result result = enter_context()) return result;
  *executable = new FakeGraph(of<FakeGraph>(graph));
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuGraphLaunch(void* executable, Stream stream) {
  if (const Result result = enter_context()) return result;
  return queues().launch(of<FakeGraph>(executable).graph, stream);
}
FUSEPLAN_EMULATOR_API Result cuGraphExecDestroy(void* executable) {
  if (const Result result = enter_context()) return result;
  delete static_cast<FakeGraph*>(executable);
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuGraphDestroy(void* graph) {
  if (const Result result = enter_context()) return result;
  delete static_cast<FakeGraph*>(graph);
  return cuda::kSuccess;
}
}  // extern "C"

}  // namespace fuseplan::emulator
