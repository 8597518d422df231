// SPDX-License-Identifier: MIT
// fuseplan-driver tune: times the candidates of problems, once and for all later processes.
#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "driver/commands.hpp"
#include "driver/report.hpp"
#include "driver/shared_flags.hpp"
#include "driver/winner_table.hpp"

namespace fuseplan::driver {
namespace {

struct TuneFlags {
  MeasureOptions measure;
  FormFlags form;
  std::vector<std::string> problems;
  std::string list, chain, export_path, import_path;
  std::int64_t batch = 0;
  int budget_ms = 1000;
  bool again = false, dry_run = false, json = false;
};

/// What became of one problem.
struct Tuned {
  std::string name, problem, candidate, model, source;
  double us = 0, untuned_us = 0;
  int timed = 0, candidates = 0;
  bool searched = false;  ///< now, not earlier
  double gain() const { return us > 0 ? untuned_us / us : 1; }
};

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C ends the work after the problem under way; a second one ends the process.
void stop_at_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

std::vector<ProblemSpec> problems_of(const TuneFlags& flags) {
  std::vector<ProblemSpec> problems;
  for (const std::string& text : flags.problems) problems.push_back(parse_problem(text));
  if (flags.list.empty()) return problems;
  for (ProblemSpec& problem : read_list(
           flags.list,
           {flags.chain, flags.batch, parse_type(flags.form.type), flags.form.channels_last()}))
    problems.push_back(std::move(problem));
  return problems;
}

Plan plan_of(const std::string& text) {
  return make<Plan>(fuseplanCreatePlanFromString, text.c_str());
}

std::string canonical(const Plan& plan) {
  return text_of(
      [&](char* text, std::size_t* size) { return fuseplanPlanToString(plan.get(), text, size); });
}

std::vector<fuseplanCandidate_t> candidates_of(fuseplanHandle_t handle, const Plan& plan) {
  int count = 0;
  check(fuseplanPlanGetCandidates(handle, plan.get(), 0, &count, nullptr));
  std::vector<fuseplanCandidate_t> rows(static_cast<std::size_t>(count));
  if (count > 0) rows[0].structSize = sizeof rows[0];
  check(fuseplanPlanGetCandidates(handle, plan.get(), count, &count, rows.data()));
  return rows;
}

std::uint64_t searches(fuseplanHandle_t handle) {
  fuseplanCacheStatistics_t statistics = {};
  statistics.structSize = sizeof statistics;
  check(fuseplanCacheGetStatistics(handle, &statistics));
  return statistics.searches;
}

Tuned describe(fuseplanHandle_t handle, const ProblemSpec& problem, const Plan& plan) {
  Tuned row;
  row.name = problem.name;
  row.problem = canonical(plan);
  const auto candidates = candidates_of(handle, plan);
  row.candidates = static_cast<int>(candidates.size());
  for (const fuseplanCandidate_t& candidate : candidates) {
    const std::string text = fmt::format("{}:{}", candidate.solver, candidate.config);
    if (row.model.empty()) row.model = text;  // the first is what the model prefers
    if (candidate.chosen == 0) continue;
    row.candidate = text;
    row.source = candidate.configSource;
  }
  return row;
}

Tuned tune(fuseplanHandle_t handle, const ProblemSpec& problem, bool dry_run) {
  const Plan plan = plan_of(to_text(problem));
  Tuned row = describe(handle, problem, plan);
  if (dry_run) return row;
  const std::uint64_t before = searches(handle);
  check(fuseplanCompilePlan(handle, plan.get()));
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle, plan.get(), &info));
  row.candidate = fmt::format("{}:{}", info.solver, info.config);
  row.source = info.configSource;
  row.us = info.tunedMicroseconds;
  row.untuned_us = info.untunedMicroseconds;
  row.timed = info.candidatesTimed;
  row.searched = searches(handle) > before;
  return row;
}

nlohmann::ordered_json to_json(const Tuned& row) {
  return {{"name", row.name},
          {"problem", row.problem},
          {"candidate", row.candidate},
          {"source", row.source},
          {"model", row.model},
          {"us", row.us},
          {"untuned_us", row.untuned_us},
          {"gain", row.gain()},
          {"timed", row.timed},
          {"candidates", row.candidates},
          {"searched", row.searched}};
}

std::string to_line(const Tuned& row, const TuneFlags& flags) {
  const std::string head = fmt::format("{:<16.16} ", row.name);
  if (flags.dry_run) {
    const bool times = row.candidates > 1 && (flags.again || row.source != "tuned");
    return head + (times ? fmt::format("would time {} candidates in about {} ms", row.candidates,
                                       flags.budget_ms)
                         : fmt::format("nothing to do: {} ({})", row.candidate, row.source));
  }
  if (row.timed == 0) return head + fmt::format("not timed: {} ({})", row.candidate, row.source);
  return head + fmt::format("{:>10.1f} {:>10.1f} {:>6.2f}x {:>4}/{:<4} {:<6} {}", row.untuned_us,
                            row.us, row.gain(), row.timed, row.candidates,
                            row.searched ? "timed" : "known", row.candidate);
}

void print(const std::vector<Tuned>& rows, const TuneFlags& flags) {
  if (flags.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Tuned& row : rows) list.push_back(to_json(row));
    std::puts(list.dump(2).c_str());
    return;
  }
  if (!flags.dry_run)
    std::puts(fmt::format("{:<16} {:>10} {:>10} {:>7} {:>9} {:<6} {}", "problem", "before us",
                          "winner us", "gain", "timed/of", "", "winner")
                  .c_str());
  double log_gain = 0;
  int timed = 0;
  for (const Tuned& row : rows) {
    std::puts(to_line(row, flags).c_str());
    if (row.timed > 0) log_gain += std::log(row.gain()), ++timed;
  }
  if (timed > 1)
    std::puts(fmt::format("{:<16} {:>10} {:>10} {:>6.2f}x", "geometric mean", "", "",
                          std::exp(log_gain / timed))
                  .c_str());
}

// Only what the model does not choose by itself is worth a line.
void export_winners(const std::vector<Tuned>& rows, const std::string& path) {
  std::string text;
  for (const Tuned& row : rows)
    if (row.timed > 0 && row.candidate != row.model)
      text += fmt::format("{} {}  # {:.1f} us, untuned {:.1f}\n", pattern_of(row.problem),
                          row.candidate, row.us, row.untuned_us);
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::app);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

void store_winner(fuseplanHandle_t handle, const Plan& plan, const std::string& candidate) {
  check(fuseplanPlanStoreWinner(handle, plan.get(), candidate.c_str()));
  const std::string location = text_of(
      [&](char* text, std::size_t* size) { return fuseplanCacheGetLocation(handle, text, size); });
  if (location.empty())
    throw std::runtime_error("the winner was not stored: the cache is in memory only");
}

/// Stores the lines of a file that are for the given problems, or for plans they spell out.
void import_winners(fuseplanHandle_t handle, const TuneFlags& flags) {
  const WinnerTable table = WinnerTable::read(flags.import_path);
  std::map<std::string, std::string> wanted;
  for (const auto& [problem, candidate] : table.rows())
    if (!problem.ends_with('*')) wanted[problem] = candidate;
  for (const ProblemSpec& spec : problems_of(flags)) {
    const std::string problem = canonical(plan_of(to_text(spec)));
    if (const auto candidate = table.find(problem)) wanted[problem] = *candidate;
  }
  int refused = 0;
  for (const auto& [problem, candidate] : wanted) {
    try {
      const Plan plan = plan_of(problem);
      if (!flags.dry_run) store_winner(handle, plan, candidate);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
      ++refused;
    }
  }
  std::puts(fmt::format("{} of {} lines apply; {} winners {}, {} refused", wanted.size(),
                        table.rows().size(), wanted.size() - static_cast<std::size_t>(refused),
                        flags.dry_run ? "would be stored" : "stored", refused)
                .c_str());
  if (refused > 0) throw ExitCode{1};
}

void run(TuneFlags& flags) {
  flags.measure.library_options += fmt::format(" --find_mode={} --tune_ms={}",
                                               flags.again ? "normal" : "hybrid", flags.budget_ms);
  const Handle handle = make_handle(flags.measure);
  if (!flags.import_path.empty()) return import_winners(handle.get(), flags);
  const auto problems = problems_of(flags);
  if (problems.empty()) throw CLI::RequiredError("a problem or --list");
  stop_at_interrupt();
  std::vector<Tuned> rows;
  {
    Progress progress(problems.size());
    for (const ProblemSpec& problem : problems) {
      if (interrupted != 0) break;
      progress.step(problem.name);
      rows.push_back(tune(handle.get(), problem, flags.dry_run));
    }
  }
  print(rows, flags);
  if (!flags.export_path.empty()) export_winners(rows, flags.export_path);
  if (interrupted != 0) {
    std::fprintf(stderr, "interrupted: %zu of %zu problems are done and stored\n", rows.size(),
                 problems.size());
    throw ExitCode{130};
  }
}

}  // namespace

void add_tune(CLI::App& app) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "Time the candidates of problems and keep the winners for later processes");
  command->add_option("problem", flags->problems, "problems as text");
  command->add_option("--list", flags->list, "a CSV list of shapes, a path or a name in problems/");
  command->add_option("--chain", flags->chain, "ops behind each shape of the list");
  command->add_option("--batch", flags->batch, "batch size instead of the list's")
      ->check(at_least(1));
  add_form_flags(*command, flags->form);
  add_handle_flags(*command, flags->measure);
  command->add_option("--budget", flags->budget_ms, "milliseconds for each problem")
      ->check(CLI::Range(1, 600000))
      ->capture_default_str();
  command->add_flag("--again", flags->again, "time problems that have a winner already as well");
  command->add_flag("--dry-run", flags->dry_run, "say what would be done, time and store nothing");
  command->add_option("--export", flags->export_path,
                      "append the winners that the model does not choose to a file, as lines of "
                      "db/tuning; -: print them");
  command->add_option("--import", flags->import_path,
                      "store the winners of such a file that are for the problems or the list, "
                      "instead of timing");
  command->add_flag("--json", flags->json, "print JSON");
  command->callback([flags] { run(*flags); });
}

}  // namespace fuseplan::driver
