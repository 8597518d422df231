// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace fuseplan {

/// What went wrong on the way to the disk, by what has to be done about it.
enum class Fault {
  busy,     ///< another process holds the lock: try again, then do without
  moved,    ///< the path names another file by now: reopen
  damaged,  ///< the file is not (or no longer) ours to read: set it aside, start anew
  full,     ///< no room: evict, then do without
  trouble,  ///< read-only, I/O error, unsafe place: memory only, look again in a second
  memory,   ///< allocation failed: do without this time
  paused,   ///< one of the above happened a moment ago and was reported: do without, in silence
};

/// Thrown inside src/cache only; KernelStore turns it into a miss, a dropped row and one warning.
class CacheFault : public std::exception {
 public:
  CacheFault(Fault fault, std::string message) : fault_(fault), message_(std::move(message)) {}
  Fault fault() const { return fault_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Fault fault_;
  std::string message_;
};

}  // namespace fuseplan
