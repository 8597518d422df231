// SPDX-License-Identifier: MIT
#include "driver/cudnn/session.hpp"

#include <stdexcept>

namespace fuseplan::driver {

Library open_cudnn() {
  return Library("FUSEPLAN_LIB_CUDNN", {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"});
}

std::string cudnn_version_text(std::size_t version) {
  constexpr std::size_t kFirstOfNine = 90000;
  const std::size_t major = version < kFirstOfNine ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

CudnnSession::CudnnSession(void* stream) {
  const Library library = open_cudnn();
  std::size_t (*get_version)() = nullptr;
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  const char* (*words)(int) = nullptr;
  library.find(get_version, "cudnnGetVersion");
  library.find(create, "cudnnCreate");
  library.find(destroy_, "cudnnDestroy");
  library.find(set_stream, "cudnnSetStream");
  library.find(words, "cudnnGetErrorString");
  version_ = get_version();
  const auto fail = [&](const char* call, int status) {
    throw std::runtime_error(library.path() + ", cuDNN " + version() + ": " + call + ": " +
                             words(status));
  };
  if (const int status = create(&handle_); status != 0) fail("cudnnCreate", status);
  if (const int status = set_stream(handle_, stream); status != 0) {
    (void)destroy_(handle_);
    fail("cudnnSetStream", status);
  }
}

CudnnSession::~CudnnSession() { (void)destroy_(handle_); }

}  // namespace fuseplan::driver
