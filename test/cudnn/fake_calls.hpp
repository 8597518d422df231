// SPDX-License-Identifier: MIT
#pragma once

#include "fake_object.hpp"

#define FAKE_CUDNN_API __attribute__((visibility("default")))

// What every function of the library that stands in for cuDNN has to do.
namespace fuseplan::fake_cudnn {

/// First, unless it destroys: a status other than success is its answer.
int enter();
/// The same of one that computes: for a handle of this library's, all that its stream holds is done
/// first, as what this library does is done at once.
int enter_on(const void* handle);

extern long living;  ///< handles and objects

template <typename T>
int create(void** place, T* made) {
  ++living;
  *place = made;
  return answer(kSuccess);
}
/// All that a function does which only creates.
template <typename T>
int enter_and_create(void** place) {
  if (const int status = enter()) return status;
  return create(place, new T);
}
template <typename T>
int destroy(void* object) {
  --living;
  delete static_cast<T*>(object);
  return kSuccess;
}

}  // namespace fuseplan::fake_cudnn
