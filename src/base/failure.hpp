// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "base/status.hpp"

// What a C edge needs to turn exceptions into statuses and messages.
namespace fuseplan {

struct Failure {
  Status status;
  const char* sentence;  ///< the exception's own, or one that is always there
};

/// What the exception being handled stands for. A thread's cancellation is thrown on.
Failure current_failure();

/// What a thread was told last. Plain bytes: telling about lack of memory takes no memory, and no
/// destructor runs at thread exit.
class LastMessage {
 public:
  void write(std::string_view function, std::string_view sentence);
  const char* text() const { return text_; }

 private:
  char text_[4096] = {};
};

}  // namespace fuseplan
