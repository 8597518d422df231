// SPDX-License-Identifier: MIT
#include "api/one_shot.hpp"

namespace fuseplan::api {

OneShots::Entry::Entry(const Handle& handle, const Problem& problem, Algorithm algorithm)
    : problem_(problem), algorithm_(algorithm), plan_(problem.input()) {
  for (const Op& op : problem.ops()) plan_.append(op.body);
  plan_.set_output(problem.output());
  plan_.set_algorithm(algorithm);
  plan_.compile(handle);
}

std::unique_ptr<Args> OneShots::Entry::borrow_args() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Args>();
  auto args = std::move(idle_.back());
  idle_.pop_back();
  return args;
}

void OneShots::Entry::give_back(std::unique_ptr<Args> args) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(args));
}

std::shared_ptr<OneShots::Entry> OneShots::find_or_make(const Handle& handle,
                                                        const Problem& problem,
                                                        Algorithm algorithm) {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!(*it)->is_for(problem, algorithm)) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return entries_.front();
    }
  }
  // Compiled outside the lock. Two threads may both do it; the kernel store lets one work.
  auto entry = std::make_shared<Entry>(handle, problem, algorithm);
  const std::lock_guard lock(mutex_);
  entries_.push_front(entry);
  if (entries_.size() > kEntries) entries_.pop_back();
  return entry;
}

void OneShots::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace fuseplan::api
