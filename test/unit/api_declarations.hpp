// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace fuseplan::test {

/// A function that the public headers declare, as written there.
struct Declaration {
  std::string name;
  std::vector<std::string> parameters;  ///< names, in order
};

/// All of them, read from the headers' text.
const std::vector<Declaration>& declarations();
const Declaration& declaration_of(const std::string& function);

}  // namespace fuseplan::test
