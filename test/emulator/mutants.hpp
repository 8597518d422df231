// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

#include "support/child.hpp"

namespace fuseplan::test {

/// A mistake put into a kernel's source.
struct Mutant {
  const char *name, *from, *to;
  const char* problem;
  const char* word;  ///< of the emulator's message; nullptr: the result is wrong
  const char* options = "";
};
std::ostream& operator<<(std::ostream& stream, const Mutant& mutant);

/// Far more than any mutant needs.
inline constexpr ChildLimits kMutantLimits = {.time = std::chrono::seconds(120),
                                              .memory = std::size_t{8} << 30};

/// Runs the problem with the mistake in a process of its own, and expects the result or the
/// emulator to show it: in one of a few orders of threads, since a mistake may hide in some. A
/// process that ends in any other way is a failure that says how.
void expect_noticed(const Mutant& mutant, const ChildLimits& limits = kMutantLimits);

}  // namespace fuseplan::test
