// SPDX-License-Identifier: MIT
#include "driver_calls.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace fuseplan::test {
namespace {

template <typename Function>
void find(void* library, Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  EXPECT_NE(function, nullptr) << symbol;
}

DriverCalls load() {
  void* library = dlopen(cuda::driver().path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  DriverCalls calls{};
  find(library, calls.stream_destroy, "cuStreamDestroy_v2");
  find(library, calls.stream_query, "cuStreamQuery");
  find(library, calls.context_synchronize, "cuCtxSynchronize");
  find(library, calls.event_create, "cuEventCreate");
  find(library, calls.event_destroy, "cuEventDestroy_v2");
  find(library, calls.event_record, "cuEventRecord");
  find(library, calls.event_query, "cuEventQuery");
  find(library, calls.event_synchronize, "cuEventSynchronize");
  find(library, calls.event_elapsed, "cuEventElapsedTime");
  find(library, calls.stream_wait, "cuStreamWaitEvent");
  find(library, calls.copy_to_device, "cuMemcpyHtoD_v2");
  find(library, calls.copy_to_host, "cuMemcpyDtoH_v2");
  find(library, calls.begin_capture, "cuStreamBeginCapture_v2");
  find(library, calls.end_capture, "cuStreamEndCapture");
  find(library, calls.instantiate, "cuGraphInstantiateWithFlags");
  find(library, calls.launch_graph, "cuGraphLaunch");
  find(library, calls.destroy_executable, "cuGraphExecDestroy");
  find(library, calls.destroy_graph, "cuGraphDestroy");
  return calls;
}

}  // namespace

const DriverCalls& driver_calls() {
  static const DriverCalls calls = load();
  return calls;
}

CapturedGraph::CapturedGraph(void* stream, const std::function<void()>& work) {
  const DriverCalls& cu = driver_calls();
  const OnDevice current;
  EXPECT_EQ(cu.begin_capture(stream, 0), 0);
  work();
  result_ = cu.end_capture(stream, &graph_);
  if (result_ != 0) return;
  EXPECT_EQ(cu.instantiate(&executable_, graph_, 0), 0);
}

CapturedGraph::~CapturedGraph() {
  if (graph_ == nullptr) return;
  const OnDevice current;
  EXPECT_EQ(driver_calls().destroy_executable(executable_), 0);
  EXPECT_EQ(driver_calls().destroy_graph(graph_), 0);
}

void CapturedGraph::launch(void* stream) const {
  const OnDevice current;
  EXPECT_EQ(driver_calls().launch_graph(executable_, stream), 0);
}

}  // namespace fuseplan::test
