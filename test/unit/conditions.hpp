// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "expr/passes.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {

/// What a solver says to a plan on such a device.
inline Verdict ask_solver(const char* solver, const std::string& text, const Traits& traits) {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  Verdict verdict(solver);
  find_solver(solver)->accepts({problem, chain, traits}, verdict);
  return verdict;
}

inline void expect_refused(const Verdict& verdict, RejectCode code, const std::string& text) {
  ASSERT_EQ(verdict.rejections().size(), 1U) << text;
  EXPECT_EQ(verdict.rejections().front().code, code)
      << text << ": " << verdict.rejections().front().sentence();
}

}  // namespace fuseplan::test
