// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace fuseplan::test {

struct ChildLimits {
  std::chrono::milliseconds time{120'000};
  std::size_t memory = 0;  ///< bytes of address space; 0: the system's limit
};

/// What came of a child process.
struct ChildResult {
  std::string said;     ///< what its role returned
  std::string problem;  ///< empty, or in words how it ended instead of returning
};

/// Runs `role` in a child process of its own process group. However that ends, by returning, an
/// exception, an exit, a signal or its limits, the caller goes on and is told. Test assertions have
/// no place in the role: they would fail in the child only.
ChildResult run_in_child(const std::function<std::string()>& role, const ChildLimits& limits = {});

}  // namespace fuseplan::test
