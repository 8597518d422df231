// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "backend/cuda/device.hpp"

namespace fuseplan::test {

/// Functions of the emulated driver for programs around fuseplan, which fuseplan itself does not
/// call. They give CUresults and need a current context, see OnDevice.
struct DriverCalls {
  using Pointer = cuda::DevicePointer;
  int (*stream_destroy)(void* stream);
  int (*stream_query)(void* stream);
  int (*context_synchronize)();
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_query)(void* event);
  int (*event_synchronize)(void* event);
  int (*event_elapsed)(float* ms, void* begin, void* end);
  int (*stream_wait)(void* stream, void* event, unsigned flags);
  int (*copy_to_device)(Pointer to, const void* from, std::size_t bytes);
  int (*copy_to_host)(void* to, Pointer from, std::size_t bytes);
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** graph);
  int (*instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*launch_graph)(void* executable, void* stream);
  int (*destroy_executable)(void* executable);
  int (*destroy_graph)(void* graph);
};
const DriverCalls& driver_calls();

/// The first device's context is the thread's current one.
class OnDevice {
 public:
  OnDevice() : current_(cuda::device(0)) {}

 private:
  cuda::CurrentContext current_;
};

/// What `work` put on the stream, not done yet.
class CapturedGraph {
 public:
  CapturedGraph(void* stream, const std::function<void()>& work);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  int result() const { return result_; }  ///< of capturing; 0 is success
  void launch(void* stream) const;        ///< queued only

 private:
  void *graph_ = nullptr, *executable_ = nullptr;
  int result_ = 0;
};

}  // namespace fuseplan::test
