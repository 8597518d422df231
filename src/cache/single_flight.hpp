// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "cache/store.hpp"

namespace fuseplan {

enum class Outcome { hit_memory, hit_disk, built };
const char* outcome_name(Outcome outcome);

/// The row of `key` from the store or, once, from `build`. Threads that want the same key wait for
/// the one that builds it and share its result (hit_memory) or its exception; processes wait for
/// each other through a lock that dies with its owner, for a few seconds. `build` must not ask for
/// its own key.
Row get_or_build(KernelStore& store, const CacheKey& key, const std::function<Row()>& build,
                 Outcome& outcome);

/// A tuning result: how to tell that a stored one still means something, and how to find another.
struct TuningRequest {
  std::function<bool(const std::string& value)> usable;
  std::function<std::string()> search;    ///< empty: nothing was found, and nothing is stored
  std::chrono::milliseconds patience{0};  ///< with another process that searches for the same
  /// Whether others wait for this search, and it for theirs. Not where it runs code that may do
  /// other work, which may come to wait here itself.
  bool shared = true;
};

/// The tuning result of `key` from the store or, once, from `request.search`: threads and processes
/// wait for each other as in get_or_build(), processes for request.patience if that is longer,
/// unless the request is not shared. Not usable results are searched for and replaced.
std::string get_or_tune(KernelStore& store, const CacheKey& key, const TuningRequest& request);

}  // namespace fuseplan
