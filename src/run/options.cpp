// SPDX-License-Identifier: MIT
#include "run/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "base/text.hpp"
#include "solve/solver.hpp"

namespace fuseplan {
namespace {

constexpr OptionInfo kOptions[] = {
#define FUSEPLAN_OPTION(key, kind, values, sentence) {#key, OptionKind::kind, values, sentence},
#include "run/options.def"
#undef FUSEPLAN_OPTION
};

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const OptionInfo& option : kOptions) names.push_back(option.key);
  return names;
}

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const Solver* solver : all_solvers()) names.emplace_back(solver->id());
  return names;
}

std::vector<std::string> switchable_passes() {
  std::vector<std::string> names;
  for (const PassInfo& pass : all_passes())
    if (pass.switchable) names.emplace_back(pass.name);
  return names;
}

const OptionInfo& option_of(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  for (const OptionInfo& option : kOptions)
    if (key == option.key) return option;
  fail(Status::BadOption, "no option \"{}\"; {}", key, suggest(key, option_names()));
}

std::string choice_of(const OptionInfo& option, std::string_view value) {
  const auto choices = split_list(option.values, ',');
  require(std::find(choices.begin(), choices.end(), value) != choices.end(), Status::BadOption,
          "--{}={}: expected one of {}", option.key, value, option.values);
  return std::string(value);
}

int number_of(const OptionInfo& option, std::string_view value) {
  const std::string_view range = option.values;
  const std::size_t dots = range.find("..");
  long low = 0, high = 0, number = 0;
  std::from_chars(range.data(), range.data() + dots, low);
  std::from_chars(range.data() + dots + 2, range.data() + range.size(), high);
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  require(
      error == std::errc{} && end == value.data() + value.size() && number >= low && number <= high,
      Status::BadOption, "--{}={}: expected a number within {}", option.key, value, range);
  return static_cast<int>(number);
}

std::vector<std::string> names_of(const OptionInfo& option, std::string_view value,
                                  const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (std::string_view name : split_list(value, ',')) {
    if (name.empty()) continue;
    require(std::find(known.begin(), known.end(), name) != known.end(), Status::BadOption,
            "--{}={}: no \"{}\"; {}", option.key, value, name, suggest(name, known));
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> all_but(const std::vector<std::string>& all,
                                 const std::vector<std::string>& kept) {
  std::vector<std::string> rest;
  for (const std::string& name : all)
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) rest.push_back(name);
  return rest;
}

PassOptions disabled_passes(const std::vector<std::string>& names) {
  PassOptions options;
  for (std::size_t i = 0; i < all_passes().size(); ++i)
    if (std::find(names.begin(), names.end(), all_passes()[i].name) != names.end())
      options.disabled |= 1u << i;
  return options;
}

JitListeners listeners_of(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return {has("perf"), has("gdb")};
}

// By FindMode.
constexpr const char* kFindModes[] = {"fast", "hybrid", "normal"};

FindMode find_mode_of(std::string_view name) {
  const auto* const found = std::find(std::begin(kFindModes), std::end(kFindModes), name);
  return static_cast<FindMode>(found - std::begin(kFindModes));
}

PinnedChoice pin_of(const OptionInfo& option, std::string_view value) {
  const std::size_t colon = value.find(':');
  PinnedChoice pin{std::string(value.substr(0, colon)), {}};
  require(pin.solver.empty() ? colon == value.npos : find_solver(pin.solver) != nullptr,
          Status::BadOption, "--{}={}: no solver \"{}\"; {}", option.key, value, pin.solver,
          suggest(pin.solver, solver_names()));
  if (colon != value.npos) pin.config = value.substr(colon + 1);
  return pin;
}

// What stands in the quotes that `text` begins with, which it loses.
std::string take_quoted(std::string_view& text) {
  const std::string_view whole = text;
  std::string value;
  for (std::size_t i = 1; i < whole.size(); ++i) {
    if (whole[i] == '"') {
      text.remove_prefix(i + 1);
      require(text.empty() || text.front() == ' ', Status::BadOption,
              "expected a blank behind the closing quote, got {}", whole);
      return value;
    }
    if (whole[i] == '\\' && i + 1 < whole.size()) ++i;
    value += whole[i];
  }
  fail(Status::BadOption, "expected a closing quote in {}", whole);
}

std::string take_value(std::string_view& text) {
  if (text.starts_with('"')) return take_quoted(text);
  const std::string value(text.substr(0, text.find(' ')));
  text.remove_prefix(value.size());
  return value;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

std::span<const OptionInfo> all_options() { return kOptions; }

Options Options::from_environment() {
  Options options;
  // Who reads "--max_isa=sse" without having written it looks for it in vain.
  const auto take = [](const std::string& name, const auto& set) {
    const auto value = environment(name.c_str());
    try {
      if (value) set(*value);
    } catch (const Error& error) {
      fail(error.status(), "the environment variable {}: {}", name, error.what());
    }
  };
  take("FUSEPLAN_FLAGS", [&](const std::string& flags) { options.apply(flags); });
  for (const OptionInfo& option : kOptions) {
    std::string name = fmt::format("FUSEPLAN_{}", option.key);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    take(name, [&](const std::string& value) { options.set(option, value); });
  }
  take("FUSEPLAN_LOG_LEVEL", [](const std::string& level) {
    require(parse_log_level(level).has_value(), Status::BadOption,
            "\"{}\" is no level: expected a number within 0..7", level);
  });
  return options;
}

void Options::apply(std::string_view flags) {
  Options changed = *this;
  while (!flags.empty()) {
    if (flags.front() == ' ') {
      flags.remove_prefix(1);
      continue;
    }
    const std::string_view item = flags.substr(0, flags.find(' '));
    const std::size_t equals = item.find('=');
    require(item.starts_with("--") && equals != item.npos, Status::BadOption,
            "expected --key=value, got \"{}\"", item);
    flags.remove_prefix(equals + 1);
    changed.set(option_of(std::string(item.substr(2, equals - 2))), take_value(flags));
  }
  *this = std::move(changed);
}

void Options::set(const OptionInfo& option, std::string_view value) {
  const std::string_view key = option.key;
  if (key == "max_isa") max_isa = *cpu::parse_isa_limit(choice_of(option, value));
  if (key == "threads") threads = number_of(option, value);
  if (key == "disable_pass") passes = disabled_passes(names_of(option, value, switchable_passes()));
  if (key == "only_pass")
    passes =
        disabled_passes(all_but(switchable_passes(), names_of(option, value, switchable_passes())));
  if (key == "disable_solver") disabled_solvers = names_of(option, value, solver_names());
  if (key == "only_solver")
    disabled_solvers = all_but(solver_names(), names_of(option, value, solver_names()));
  if (key == "find_mode") find_mode = find_mode_of(choice_of(option, value));
  if (key == "tune_ms") tune_ms = number_of(option, value);
  if (key == "pin") pin = pin_of(option, value);
  if (key == "cache") cache = choice_of(option, value);
  if (key == "cache_dir") cache_dir = value;
  if (key == "cache_mb") cache_mb = number_of(option, value);
  if (key == "cache_sync") cache_sync = choice_of(option, value) == "1";
  if (key == "cache_netfs") cache_netfs = choice_of(option, value) == "1";
  if (key == "verify_code") verify_code = choice_of(option, value) == "1";
  if (key == "tf32") tf32 = choice_of(option, value) == "1";
  if (key == "jit_profile") jit_profile = listeners_of(names_of(option, value, {"perf", "gdb"}));
}

std::string Options::to_text() const {
  const Options defaults;
  std::vector<std::string> disabled;
  for (std::size_t i = 0; i < all_passes().size(); ++i)
    if ((passes.disabled >> i & 1u) != 0) disabled.emplace_back(all_passes()[i].name);
  std::vector<std::string> items;
  const auto add = [&](bool changed, std::string item) {
    if (changed) items.push_back(std::move(item));
  };
  add(max_isa != defaults.max_isa, fmt::format("--max_isa={}", cpu::name_of(max_isa)));
  add(threads != defaults.threads, fmt::format("--threads={}", threads));
  add(!disabled.empty(), "--disable_pass=" + joined(disabled));
  add(!disabled_solvers.empty(), "--disable_solver=" + joined(disabled_solvers));
  add(find_mode != defaults.find_mode,
      fmt::format("--find_mode={}", kFindModes[static_cast<std::size_t>(find_mode)]));
  add(tune_ms != defaults.tune_ms, fmt::format("--tune_ms={}", tune_ms));
  add(!pin.solver.empty(),
      "--pin=" + option_value(pin.solver + (pin.config.empty() ? "" : ":") + pin.config));
  add(cache != defaults.cache, "--cache=" + cache);
  add(!cache_dir.empty(), "--cache_dir=" + option_value(cache_dir));
  add(cache_mb != defaults.cache_mb, fmt::format("--cache_mb={}", cache_mb));
  add(cache_sync, "--cache_sync=1");
  add(cache_netfs, "--cache_netfs=1");
  add(verify_code, "--verify_code=1");
  add(tf32, "--tf32=1");
  add(jit_profile.perf || jit_profile.gdb,
      fmt::format("--jit_profile={}{}{}", jit_profile.perf ? "perf" : "",
                  jit_profile.perf && jit_profile.gdb ? "," : "", jit_profile.gdb ? "gdb" : ""));
  return fmt::format("{}", fmt::join(items, " "));
}

}  // namespace fuseplan
