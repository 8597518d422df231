// SPDX-License-Identifier: MIT
// Samples are what tests on any machine run: each is taken in the layout in which it is written or
// in NCHW, whatever the rates and extensions of the processor say is worth it.
#include <gtest/gtest.h>

#include <array>

#include "conditions.hpp"

namespace fuseplan::test {
namespace {

struct Processor {
  std::string_view family;
  cpu::Isa highest;
  cpu::Extensions extensions;
};
const std::array kProcessors = {
    Processor{"generic", cpu::Isa::avx2, {}},
    Processor{"generic", cpu::Isa::avx2, {.avx_vnni = true}},
    Processor{"generic", cpu::Isa::avx512, {}},
    Processor{"zen4", cpu::Isa::avx2, {}},
    Processor{"zen4", cpu::Isa::avx512, {.bf16 = true, .fast_bf16 = true, .vnni = true}},
    Processor{"zen5", cpu::Isa::avx2, {}},
    Processor{"zen5", cpu::Isa::avx512, {.bf16 = true, .fast_bf16 = true, .vnni = true}},
    Processor{"sapphire", cpu::Isa::avx512, {.bf16 = true, .vnni = true}},
    Processor{"sapphire_amx",
              cpu::Isa::avx512,
              {.bf16 = true, .vnni = true, .tiles_bf16 = true, .tiles_int8 = true}}};

std::string without_layouts(std::string text) {
  for (const std::string_view layout : {":nhwc", ":ndhwc"})
    for (std::size_t at; (at = text.find(layout)) != std::string::npos;)
      text.erase(at, layout.size());
  return text;
}

bool is_taken(const Solver& solver, const std::string& text, const Processor& processor) {
  for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::avx2, cpu::Isa::portable}) {
    if (isa > processor.highest) continue;
    Traits traits{.backend = "cpu", .isa = isa, .family = std::string(processor.family)};
    if (isa == processor.highest) traits.extensions = processor.extensions;
    if (ask_solver(std::string(solver.id()).c_str(), text, traits).accepted()) return true;
  }
  return false;
}

TEST(SolverSamples, AreTakenOnEveryProcessor) {
  int asked = 0;
  for (const Solver* solver : all_solvers()) {
    if (solver->backend() != "cpu") continue;
    for (const Processor& processor : kProcessors) {
      if (solver->id() == "cpu_matrix" && !processor.extensions.tiles_bf16) continue;
      for (const std::string& text : solver->samples()) {
        EXPECT_TRUE(is_taken(*solver, text, processor) ||
                    is_taken(*solver, without_layouts(text), processor))
            << solver->id() << ": " << text << " on " << processor.family;
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 100);
}

// Those who say it cheaper say the same.
TEST(SolverSamples, FirstConfigurationsAndThoseOnOffer) {
  int asked = 0;
  for (const Solver* solver : all_solvers())
    for (const Processor& processor : kProcessors)
      for (const std::string& text : solver->samples()) {
        const Traits traits{.backend = "cpu",
                            .isa = processor.highest,
                            .extensions = processor.extensions,
                            .family = std::string(processor.family)};
        if (solver->backend() != traits.backend) continue;
        if (!ask_solver(std::string(solver->id()).c_str(), text, traits).accepted()) continue;
        const Problem problem = parse_problem(text);
        const SplitChain chain = optimize(lower(problem), {});
        const Question question{problem, chain, traits};
        const std::vector<std::string> configs = solver->configs(question);
        ASSERT_FALSE(configs.empty());
        EXPECT_EQ(solver->first_config(question), configs.front()) << solver->id() << " " << text;
        for (const std::string& config : configs)
          EXPECT_TRUE(solver->offers(question, config)) << solver->id() << " " << config;
        EXPECT_FALSE(solver->offers(question, configs.front() + "?"));
        ++asked;
      }
  EXPECT_GT(asked, 300);
}

}  // namespace
}  // namespace fuseplan::test
