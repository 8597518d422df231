// SPDX-License-Identifier: MIT
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "plan/problem.hpp"
#include "run/args.hpp"
#include "run/handle.hpp"
#include "run/plan.hpp"

namespace fuseplan::api {

/// The plans behind fuseplanConvolutionBiasActivationForward: made at the first call with a set of
/// descriptors and found at the next. Keeps the most recently used.
class OneShots {
 public:
  /// A compiled plan with the argument objects of calls that have ended, which hold prepared
  /// weights.
  class Entry {
   public:
    Entry(const Handle& handle, const Problem& problem, Algorithm algorithm);
    bool is_for(const Problem& problem, Algorithm algorithm) const {
      return algorithm_ == algorithm && problem_ == problem;
    }
    const Plan& plan() const { return plan_; }
    std::unique_ptr<Args> borrow_args();
    void give_back(std::unique_ptr<Args> args);

   private:
    Problem problem_;
    Algorithm algorithm_;
    Plan plan_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Args>> idle_;
  };

  /// `algorithm` none: any.
  std::shared_ptr<Entry> find_or_make(const Handle& handle, const Problem& problem,
                                      Algorithm algorithm);
  /// Options have changed.
  void clear();

 private:
  static constexpr std::size_t kEntries = 64;
  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // most recently used first
};

}  // namespace fuseplan::api
