// SPDX-License-Identifier: MIT
#include "kernels/cpu/statistics/recipe.hpp"

#include "base/status.hpp"
#include "expr/norm_stages.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

/// Configurations are those of the solvers of the rest of the plan: "cpu_direct/...".
class CpuStatistics final : public Solver {
 public:
  std::string_view id() const override { return "cpu_statistics"; }
  std::string_view sentence() const override {
    return "any plan that ends with statistics, which it takes from the cache";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::none; }

  void accepts(const Question& question, Verdict& verdict) const override {
    verdict.need(statistics_stages(question.problem, question.chain).has_value(),
                 RejectCode::Sequence, "last op", kind_of(question.problem.ops().back().body),
                 "statistics");
    if (!verdict.accepted()) return;
    verdict.need(!inner_solvers(question).empty(), RejectCode::Sequence, "ops",
                 "no solver runs what stands before the statistics",
                 "one that does and is not switched off");
  }

  std::vector<std::string> configs(const Question& question) const override {
    const cpu::FewImages few(question.problem, question.chain);
    const Question rest{few.problem, few.chain, question.traits};
    std::vector<std::string> configs;
    for (const Solver* solver : inner_solvers(question))
      for (const std::string& config : solver->configs(rest))
        configs.push_back(std::string(solver->id()) + "/" + config);
    return configs;
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const std::size_t slash = config.find('/');
    const Solver* solver = find_solver(config.substr(0, slash));
    require(slash != config.npos && solver != nullptr, Status::InvalidValue,
            "cpu_statistics: \"{}\" is no configuration", config);
    const cpu::FewImages few(question.problem, question.chain);
    const Kernel inner =
        solver->build({few.problem, few.chain, question.traits}, config.substr(slash + 1));
    return {inner.name + "_statistics", cpu::statistics_recipe(question.problem, question.chain,
                                                               inner.cpu, question.traits.isa)};
  }

  /// Those that run the rest of the plan and that the caller has not switched off.
  static std::vector<const Solver*> inner_solvers(const Question& question) {
    const cpu::FewImages few(question.problem, question.chain);
    SolverFilter filter;
    if (question.filter != nullptr) filter.disabled = question.filter->disabled;
    return select_solvers({few.problem, few.chain, question.traits}, filter).accepted;
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:3x12x14x13:nchw;conv(f32:19x12x3x3,pad=1x1);bias(f32:1x19x1x1);statistics(f32:"
        "1x19x1x1)",
        "f32:4x32x28x28:nchw;conv(f32:40x32x1x1,stride=2x2);statistics(f32:1x40x1x1)",
        "f32:2x24x15x15:nchw;conv(f32:24x1x3x3,pad=1x1,groups=24);bias(f32:1x24x1x1);"
        "add(f32:2x24x15x15);activation(relu);statistics(f32:1x24x1x1)",
        "f32:2x6x4x5x7:ncdhw;conv(f32:9x6x3x3x3,pad=1x1x1);statistics(f32:1x9x1x1x1)",
        "f32:6x21x17x9:nchw;activation(tanh);statistics(f32:1x21x1x1)",
        "f32:2x3x210x210:nchw;activation(relu);statistics(f32:1x3x1x1)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_statistics() {
  static const CpuStatistics solver;
  return solver;
}

}  // namespace fuseplan
