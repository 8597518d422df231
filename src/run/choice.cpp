// SPDX-License-Identifier: MIT
#include "run/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace fuseplan {
namespace {

struct SourceInfo {
  const char *name, *sentence;
};
constexpr SourceInfo kSources[] = {
#define FUSEPLAN_CHOICE_SOURCE(name, sentence) {#name, sentence},
#include "run/choice_sources.def"
#undef FUSEPLAN_CHOICE_SOURCE
};

template <typename T>
bool take_number(std::string_view piece, std::string_view key, T& number) {
  if (!piece.starts_with(key)) return false;
  piece.remove_prefix(key.size());
  const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), number);
  return error == std::errc{} && end == piece.data() + piece.size() && number >= 0;
}

}  // namespace

const char* name_of(ChoiceSource source) { return kSources[static_cast<std::size_t>(source)].name; }
const char* sentence_of(ChoiceSource source) {
  return kSources[static_cast<std::size_t>(source)].sentence;
}

std::string to_text(const Candidate& candidate) {
  return fmt::format("{}:{}", candidate.solver->id(), candidate.config);
}

std::string to_text(const TuningValue& value) {
  return fmt::format("{} us={:.3f} model_us={:.3f} timed={}", value.candidate, value.times.us,
                     value.times.model_us, value.times.timed);
}

std::optional<TuningValue> parse_tuning_value(std::string_view text) {
  const auto pieces = split_list(text, ' ');
  if (pieces.size() != 4) return std::nullopt;
  TuningValue value{std::string(pieces[0]), {}};
  if (!take_number(pieces[1], "us=", value.times.us) ||
      !take_number(pieces[2], "model_us=", value.times.model_us) ||
      !take_number(pieces[3], "timed=", value.times.timed))
    return std::nullopt;
  return value;
}

std::optional<Candidate> find_candidate(const Question& question,
                                        const std::vector<const Solver*>& accepted,
                                        std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view config = text.substr(colon + 1);
  for (const Solver* solver : accepted)
    if (solver->id() == text.substr(0, colon) && solver->offers(question, config))
      return Candidate{solver, std::string(config)};
  return std::nullopt;
}

std::vector<Candidate> candidates_of(const Question& question,
                                     const std::vector<const Solver*>& accepted) {
  std::vector<Candidate> defaults, others;
  for (const Solver* solver : accepted) {
    if (solver->rank(question) == Rank::last_resort && !defaults.empty()) continue;
    for (std::string& config : solver->configs(question)) {
      const bool first = defaults.empty() || defaults.back().solver != solver;
      (first ? defaults : others).push_back({solver, std::move(config)});
    }
  }
  defaults.insert(defaults.end(), std::make_move_iterator(others.begin()),
                  std::make_move_iterator(others.end()));
  return defaults;
}

}  // namespace fuseplan
