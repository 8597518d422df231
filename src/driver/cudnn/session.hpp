// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "driver/device/library.hpp"

namespace fuseplan::driver {

/// The library that FUSEPLAN_LIB_CUDNN names, or cuDNN 9 or 8 as the loader finds it. Throws
/// std::runtime_error with every name tried.
Library open_cudnn();

/// "9.19.0" of 91900, "8.9.7" of 8907.
std::string cudnn_version_text(std::size_t version);

/// A handle of cuDNN's on a stream. Throws std::runtime_error with cuDNN's words.
class CudnnSession {
 public:
  explicit CudnnSession(void* stream);
  ~CudnnSession();
  CudnnSession(const CudnnSession&) = delete;
  CudnnSession& operator=(const CudnnSession&) = delete;

  void* handle() const { return handle_; }
  std::string version() const { return cudnn_version_text(version_); }

 private:
  int (*destroy_)(void*) = nullptr;
  std::size_t version_ = 0;
  void* handle_ = nullptr;
};

}  // namespace fuseplan::driver
