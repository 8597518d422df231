// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace fuseplan::emulator {

/// When asynchronous copies land, within what the hardware may do.
enum class Landing { early, late, any };

/// One thread's copies into shared memory (cp.async), in the groups it commits.
class Copies {
 public:
  void add(char* to, const void* from, unsigned bytes, Landing when, std::mt19937_64& random) {
    const Copy copy{to, from, bytes};
    if (when == Landing::early || (when == Landing::any && random() % 2 == 0)) return land(copy);
    open_.push_back(copy);
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  void wait(std::size_t left) {
    for (; groups_.size() > left; groups_.pop_front())
      for (const Copy& copy : groups_.front()) land(copy);
  }
  /// Some that nobody has waited for yet.
  void land_some(std::mt19937_64& random) {
    for (auto& group : groups_)
      std::erase_if(group, [&](const Copy& copy) {
        const bool now = random() % 4 == 0;
        if (now) land(copy);
        return now;
      });
  }

 private:
  struct Copy {
    char* to;
    const void* from;
    unsigned bytes;
  };
  static void land(const Copy& copy) {
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(copy.to + copy.bytes, 0, 16 - copy.bytes);
  }

  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

}  // namespace fuseplan::emulator
