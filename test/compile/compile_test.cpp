// SPDX-License-Identifier: MIT
// Every GPU solver's samples, in every type and layout, through NVRTC to machine code: they
// compile, use no stack and spill nothing. Needs NVRTC and no GPU. Architectures take turns over
// the forms; FUSEPLAN_COMPILE_ALL=1 compiles every form for every architecture, and
// FUSEPLAN_COMPILE_REPORT=1 shows each one's registers.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "../matrix/matrix.hpp"
#include "backend/cuda/nvrtc.hpp"
#include "base/status.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

// scripts/test puts NVRTC there; one that is installed will do as well.
const bool kPlaced = [] {
  const std::string path = std::string(FUSEPLAN_NVRTC_DIR) + "/libnvrtc.so.12";
  if (std::filesystem::exists(path)) setenv("FUSEPLAN_LIB_NVRTC", path.c_str(), 0);
  return true;
}();

/// Those of the issue that this NVRTC knows.
std::vector<std::string> archs() {
  std::vector<std::string> known;
  for (int arch : cuda::nvrtc_archs())
    for (int wanted : {75, 80, 86, 89, 90, 100})
      if (arch == wanted) known.push_back("sm_" + std::to_string(arch));
  if (std::ranges::find(known, "sm_90") != known.end()) known.push_back("sm_90a");
  return known;
}

/// The largest number in front of `words` in ptxas's log; -1 if the words are not there.
int largest(const std::string& log, const char* words) {
  int most = -1;
  const std::regex pattern("([0-9]+) " + std::string(words));
  for (std::sregex_iterator at(log.begin(), log.end(), pattern), end; at != end; ++at)
    most = std::max(most, std::stoi((*at)[1]));
  return most;
}

class MachineCode : public testing::Test {
 protected:
  void compile(const Kernel& kernel, const std::string& arch) {
    static constexpr const char* kVerbose[] = {"--ptxas-options=-v"};
    const auto start = std::chrono::steady_clock::now();
    const cuda::Compilation result = cuda::compile_source(kernel.gpu->source(), arch, kVerbose);
    ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    ++count_;
    EXPECT_EQ(largest(result.log, "bytes stack frame"), 0) << result.log;
    EXPECT_EQ(largest(result.log, "bytes spill stores"), 0) << result.log;
    EXPECT_EQ(largest(result.log, "bytes spill loads"), 0) << result.log;
    EXPECT_EQ(result.log.find("C75"), result.log.npos) << result.log;
    const int registers = largest(result.log, "registers");
    EXPECT_GT(registers, 0) << result.log;
    EXPECT_LE(registers, 255) << result.log;
    most_ = std::max(most_, registers);
    if (std::getenv("FUSEPLAN_COMPILE_REPORT") != nullptr)
      std::printf("%s for %s: %d registers\n", label_.c_str(), arch.c_str(), registers);
    ASSERT_GT(result.image.size(), 4u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(result.image.data()), 4), "\177ELF");
  }

  void TearDown() override {
    if (count_ > 0)
      std::printf("%d kernels by NVRTC %s, %.0f ms each, at most %d registers\n", count_,
                  cuda::nvrtc_version().c_str(), ms_ / count_, most_);
  }

  std::string label_;  ///< of what is compiled next
  int count_ = 0, most_ = 0;
  double ms_ = 0;
};

struct Question2 {
  Problem problem;
  SplitChain chain;
  Traits traits;
  Question2(const std::string& text, const std::string& arch)
      : problem(parse_problem(text)), chain(optimize(lower(problem), {})) {
    traits.backend = "cuda";
    traits.arch = arch;
    traits.tf32 = true;
  }
  Question get() const { return {problem, chain, traits}; }
  /// Not every architecture has what a solver needs.
  bool accepted_by(const Solver& solver) const {
    Verdict verdict(solver.id());
    solver.accepts(get(), verdict);
    return verdict.accepted();
  }
};

std::vector<const Solver*> gpu_solvers() {
  std::vector<const Solver*> solvers;
  for (const Solver* solver : all_solvers())
    if (solver->backend() == "cuda") solvers.push_back(solver);
  return solvers;
}

TEST_F(MachineCode, EverySampleInEveryTypeAndLayout) {
  const bool all = std::getenv("FUSEPLAN_COMPILE_ALL") != nullptr;
  const std::vector<std::string> targets = archs();
  std::size_t turn = 0;
  for (const Solver* solver : gpu_solvers())
    for (const std::string& text : solver->samples())
      for (fuseplanDataType_t type : kTypes)
        for (bool channels_last : {false, true}) {
          const std::string form =
              driver::to_text(converted(driver::parse_problem(text), type, channels_last));
          for (const std::string& arch : targets) {
            if (!all && arch != targets[turn % targets.size()]) continue;
            SCOPED_TRACE(form + " for " + arch);
            const Question2 question(form, arch);
            if (!question.accepted_by(*solver)) continue;
            label_ = form;
            const auto config = solver->configs(question.get()).front();
            compile(solver->build(question.get(), config), arch);
          }
          ++turn;
        }
  EXPECT_GT(count_, 60);
}

// Each for an architecture that has the room for it, in turns.
TEST_F(MachineCode, EveryConfiguration) {
  const bool all = std::getenv("FUSEPLAN_COMPILE_ALL") != nullptr;
  const std::vector<std::string> targets = archs();
  for (const Solver* solver : gpu_solvers()) {
    const std::string sample = solver->samples().front();
    std::size_t turn = 0;
    for (const std::string& config : solver->configs(Question2(sample, "sm_90").get())) {
      ++turn;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const std::string& arch = targets[(turn + i) % targets.size()];
        const Question2 question(sample, arch);
        if (!question.accepted_by(*solver)) continue;
        const auto configs = solver->configs(question.get());
        if (std::ranges::find(configs, config) == configs.end()) continue;
        SCOPED_TRACE(config + " for " + arch);
        label_ = std::string(solver->id()) + ":" + config;
        compile(solver->build(question.get(), config), arch);
        if (!all) break;
      }
    }
  }
  EXPECT_GT(count_, 10);
}

TEST_F(MachineCode, EveryActivation) {
  for (const ActivationInfo& activation : all_activations()) {
    const std::string text = std::string("f16:2x64x8x8:nhwc;activation(") + activation.text + ")";
    SCOPED_TRACE(text);
    const Question2 question(text, "sm_80");
    compile(find_solver("gpu_pointwise")->build(question.get(), "default"), "sm_80");
  }
}

TEST_F(MachineCode, TwiceGivesTheSameBytes) {
  const Question2 question(find_solver("gpu_conv")->samples().front(), "sm_90");
  const std::string source = find_solver("gpu_conv")->build(question.get(), "64x64").gpu->source();
  EXPECT_EQ(cuda::compile_source(source, "sm_90").image,
            cuda::compile_source(source, "sm_90").image);
}

// The dialect's other compiler, where it is installed: clang for AMD, without anything of ROCm.
TEST_F(MachineCode, ByClangForAmd) {
  if (std::system("clang --version > /dev/null 2>&1") != 0) {
    std::printf("no clang here: nothing was compiled for AMD\n");
    return;
  }
  const TemporaryDirectory directory;
  for (const Solver* solver : gpu_solvers())
    for (const char* arch : {"gfx90a", "gfx1030"}) {
      const Question2 question(solver->samples().front(), arch);
      if (!question.accepted_by(*solver)) continue;
      const auto config = solver->configs(question.get()).front();
      std::ofstream(directory / "k.hip") << solver->build(question.get(), config).gpu->source();
      const std::string command =
          "clang -x hip -std=c++17 -O3 --offload-arch=" + std::string(arch) +
          " --cuda-device-only -nogpulib -nogpuinc -S -o " + (directory / "k.s") + " " +
          (directory / "k.hip");
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
      std::ostringstream assembly;
      assembly << std::ifstream(directory / "k.s").rdbuf();
      EXPECT_NE(assembly.str().find("; ScratchSize: 0\n"), std::string::npos);
      EXPECT_EQ(assembly.str().find("; ScratchSize: 1"), std::string::npos);
    }
}

TEST_F(MachineCode, ArchitecturesItDoesNotKnow) {
  const std::string source = "extern \"C\" __global__ void f() {}\n";
  const auto newer = cuda::compile_source(source, "sm_999");
  EXPECT_NE(std::string(reinterpret_cast<const char*>(newer.image.data())).find(".target"),
            std::string::npos);
  try {
    cuda::compile_source(source, "sm_10");
    ADD_FAILURE() << "compiled for sm_10";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::UnsupportedOp);
    EXPECT_NE(std::string(error.what()).find("sm_10; it knows"), std::string::npos) << error.what();
  }
}

TEST_F(MachineCode, MistakesAreShownWithTheLog) {
  try {
    cuda::compile_source("extern \"C\" __global__ void f() { undeclared; }\n", "sm_80");
    ADD_FAILURE() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("undeclared"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace fuseplan::test

// Without NVRTC the program says so and ends with ctest's number for a test that was skipped.
int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  const std::string problem = fuseplan::cuda::nvrtc_problem();
  if (problem.empty()) return RUN_ALL_TESTS();
  std::printf("SKIPPED: GPU kernels are not compiled: %s\n", problem.c_str());
  constexpr int kSkipped = 77;
  return kSkipped;
}
