// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>

namespace fuseplan {

/// Keeps the signals that a write can raise (SIGXFSZ at a file size limit, SIGPIPE) from the host:
/// blocked while it lives, and one that our write raised is consumed before the mask is restored.
/// No handler is installed. Belongs to the thread that made it.
class WriteSignalShield {
 public:
  WriteSignalShield();
  ~WriteSignalShield();
  WriteSignalShield(const WriteSignalShield&) = delete;
  WriteSignalShield& operator=(const WriteSignalShield&) = delete;

 private:
  sigset_t ours_, pending_before_, mask_before_;
};

}  // namespace fuseplan
