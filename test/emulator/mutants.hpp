// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>

namespace fuseplan::test {

/// A mistake put into a kernel's source, which must be noticed.
struct Mutant {
  const char *name, *from, *to;
  const char* problem;
  const char* word;      ///< of the emulator's message; nullptr: the result is wrong
  const char* pin = "";  ///< solver and configuration
};

inline std::ostream& operator<<(std::ostream& stream, const Mutant& mutant) {
  return stream << mutant.name;
}

/// Runs the problem with the mistake, and expects a wrong result or the emulator's word.
void expect_noticed(const Mutant& mutant);

}  // namespace fuseplan::test
