// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "base/status.hpp"

namespace fuseplan::cpu {

/// Code that is emitted to see what it takes may take more than there is.
class OutOfRegisters : public Error {
 public:
  OutOfRegisters() : Error(Status::InternalError, "the emitter ran out of registers") {}
};

/// Free registers of one kind. When none is left, the owner of the values in use may be asked to
/// give one up (it moves a value to the stack).
class RegisterPool {
 public:
  class Evictor {
   public:
    virtual ~Evictor() = default;
    /// Gives at least one register back to the pool, or does nothing if it holds none to spare.
    virtual void evict_one() = 0;
  };

  int take() {
    if (free_.empty() && evictor_ != nullptr) evictor_->evict_one();
    if (free_.empty()) throw OutOfRegisters();
    const int index = free_.back();
    free_.pop_back();
    lowest_ = std::min(lowest_, free_.size());
    return index;
  }
  void reserve(std::size_t count) { free_.reserve(count); }
  void give(int index) { free_.push_back(index); }
  std::size_t free() const { return free_.size(); }
  /// The fewest that were ever free.
  std::size_t lowest() const { return lowest_; }
  void set_evictor(Evictor* evictor) { evictor_ = evictor; }

 private:
  std::vector<int> free_;
  std::size_t lowest_ = 64;
  Evictor* evictor_ = nullptr;
};

}  // namespace fuseplan::cpu
