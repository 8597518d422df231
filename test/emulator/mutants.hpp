// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

namespace fuseplan::test {

/// A mistake put into a kernel's source.
struct Mutant {
  const char *name, *from, *to;
  const char* problem;
  const char* word;  ///< of the emulator's message; nullptr: the result is wrong
  const char* options = "";
};
std::ostream& operator<<(std::ostream& stream, const Mutant& mutant);

/// Runs the problem with the mistake, and expects the result or the emulator to show it: in one of
/// a few orders of threads, since a mistake may hide in some.
void expect_noticed(const Mutant& mutant);

}  // namespace fuseplan::test
