// SPDX-License-Identifier: MIT
// problems/oddities.csv by every solver that takes a row, not only by the one that would be chosen.
#include <cstdio>
#include <set>
#include <string>

#include "matrix.hpp"

namespace fuseplan::test {
namespace {

struct Form {
  fuseplanDataType_t type;
  bool channels_last;
  const char* chain;
};
std::vector<Form> forms() {
  std::vector<Form> all;
  for (const bool channels_last : {false, true}) {
    for (const fuseplanDataType_t type : kTypes)
      all.push_back({type, channels_last,
                     "bias(f32:1);norm(spatial,f32:1);add(f32:1);activation(gelu_tanh)"});
    for (const fuseplanDataType_t type : kIntegers)
      all.push_back({type, channels_last, "scale_shift(f32:1);activation(relu)"});
    all.push_back({fuseplanFloat, channels_last, "bias(f32:1);statistics(f32:1)"});
  }
  return all;
}

ProblemSpec in_form(const ConvProblem& row, const Form& form) {
  return converted(with_chain(row, form.chain), form.type, form.channels_last);
}

class OdditiesBySolver : public testing::TestWithParam<ConvProblem> {};

TEST_P(OdditiesBySolver, EachIsRight) {
  std::uint64_t stream = 500;
  int run = 0;
  for (const Form& form : forms())
    for (const std::string& level : kByteLevels) {
      const ProblemSpec problem = in_form(GetParam(), form);
      SCOPED_TRACE(driver::to_text(problem) + ", seed " + std::to_string(test_seed()) +
                   ", stream " + std::to_string(++stream));
      Case c(problem, {.stream = stream, .misalign = static_cast<int>(stream % 3)});
      const Handle asked = handle_at(level);
      for (const fuseplanCandidate_t& row : candidates_of(asked.get(), c.plan()))
        expect_right(c, level, row, 1 + run++ % 3);
      EXPECT_EQ(c.input().damage(), "");
    }
  std::printf("%d executions\n", run);
  EXPECT_GE(run, static_cast<int>(forms().size() * kByteLevels.size()));
}

INSTANTIATE_TEST_SUITE_P(List, OdditiesBySolver,
                         testing::ValuesIn(read_conv_problems("oddities.csv")),
                         [](const testing::TestParamInfo<ConvProblem>& info) {
                           return "row" + std::to_string(info.index) + "_" + info.param.name;
                         });

/// Of convolutions, but those for hardware that this machine lacks, and the one that is left where
/// no other takes a plan.
std::set<std::string> convolution_solvers() {
  std::set<std::string> ids;
  for (const SolverSample& sample : samples_on("cpu"))
    if (sample.solver->id() != "cpu_portable" &&
        driver::parse_problem(sample.text).ops.front().kind == driver::OpKind::conv)
      ids.insert(std::string(sample.solver->id()));
  return ids;
}

TEST(OdditiesOfEverySolver, AreThere) {
  std::set<std::string> takes;
  for (const ConvProblem& row : read_conv_problems("oddities.csv"))
    for (const Form& form : forms()) {
      const Case c(in_form(row, form), {});
      const Handle asked = handle_at(kByteLevels.front());
      for (const fuseplanCandidate_t& candidate : candidates_of(asked.get(), c.plan()))
        takes.insert(candidate.solver);
    }
  for (const std::string& id : convolution_solvers())
    EXPECT_TRUE(takes.count(id) > 0 || cpu::host_isa() != cpu::Isa::avx512) << id;
}

}  // namespace
}  // namespace fuseplan::test
