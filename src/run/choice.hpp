// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solve/solver.hpp"

namespace fuseplan {

/// Why a plan's kernel is the one it is, weakest reason first.
enum class ChoiceSource {
#define FUSEPLAN_CHOICE_SOURCE(name, sentence) name,
#include "run/choice_sources.def"
#undef FUSEPLAN_CHOICE_SOURCE
};
const char* name_of(ChoiceSource source);
const char* sentence_of(ChoiceSource source);

/// A solver with one of its configurations: "cpu_direct:14x2,block=784,chunk=256,staged=0".
struct Candidate {
  const Solver* solver = nullptr;
  std::string config;
  bool operator==(const Candidate&) const = default;
};
std::string to_text(const Candidate& candidate);

/// What a search saw; zero where nothing was timed.
struct SearchTimes {
  double us = 0;        ///< of the winner
  double model_us = 0;  ///< of what would have run without the search, in the same race
  int timed = 0;        ///< candidates that ran
};

struct Choice {
  Candidate candidate;
  ChoiceSource source = ChoiceSource::model;
  SearchTimes times;
};

/// A tuning result as the database keeps it: a candidate and what its search saw. parse gives
/// nothing for any other text.
struct TuningValue {
  std::string candidate;
  SearchTimes times;
};
std::string to_text(const TuningValue& value);
std::optional<TuningValue> parse_tuning_value(std::string_view text);

/// The candidate of that text if its solver is among `accepted` and lists the configuration for
/// this problem. Text from a file, a table or a user selects among kernels; it never defines one.
std::optional<Candidate> find_candidate(const Question& question,
                                        const std::vector<const Solver*>& accepted,
                                        std::string_view text);

/// What may be timed: the default of every accepted solver, best first, then all other
/// configurations. The last resort takes part only where nothing else is accepted.
std::vector<Candidate> candidates_of(const Question& question,
                                     const std::vector<const Solver*>& accepted);

}  // namespace fuseplan
