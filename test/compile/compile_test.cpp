// SPDX-License-Identifier: MIT
// Every GPU solver's samples, in every type and layout, and its configurations, through NVRTC to
// machine code, each for one architecture or more: they compile, use no stack and spill nothing.
// Needs NVRTC and no GPU. FUSEPLAN_COMPILE_REPORT=1 shows each one's registers and time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "../matrix/matrix.hpp"
#include "asked.hpp"
#include "backend/cuda/nvrtc.hpp"
#include "base/status.hpp"
#include "support/threads.hpp"

namespace fuseplan::test {
namespace {

// scripts/test puts NVRTC there; one that is installed will do as well.
const bool kPlaced = [] {
  const std::string path = std::string(FUSEPLAN_NVRTC_DIR) + "/libnvrtc.so.12";
  if (std::filesystem::exists(path)) setenv("FUSEPLAN_LIB_NVRTC", path.c_str(), 0);
  return true;
}();

/// Those that this NVRTC knows.
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

/// A kernel for an architecture, and what NVRTC made of it.
struct Job {
  std::string label, source, arch;
  std::optional<cuda::Compilation> result;
  std::string problem;
  double ms = 0;

  void compile() {
    static constexpr const char* kVerbose[] = {"--ptxas-options=-v"};
    const auto start = std::chrono::steady_clock::now();
    try {
      result = cuda::compile_source(source, arch, kVerbose);
    } catch (const Error& error) {
      problem = error.what();
    }
    ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  std::string name() const { return label + " for " + arch; }
  int registers() const { return largest(result->log, "registers"); }
};

/// Compiles what a test adds, all processors at it, when the test is over.
class MachineCode : public testing::Test {
 protected:
  /// The same code for the same architecture is compiled once.
  void add(const std::string& label, const Kernel& kernel, const std::string& arch) {
    ++added_;
    std::string source = kernel.gpu->source();
    if (known_.emplace(arch, source).second)
      jobs_.push_back({label, std::move(source), arch, {}, {}, 0});
  }
  int added() const { return added_; }

  void TearDown() override {
    if (jobs_.empty()) return;
    const auto start = std::chrono::steady_clock::now();
    parallel_for(static_cast<std::int64_t>(jobs_.size()),
                 [&](std::int64_t i) { jobs_[static_cast<std::size_t>(i)].compile(); });
    for (const Job& job : jobs_) check(job);
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    report(all.count());
  }

 private:
  static void check(const Job& job) {
    SCOPED_TRACE(job.name());
    EXPECT_EQ(job.problem, "");
    if (!job.result) return;
    const std::string& log = job.result->log;
    for (const char* none : {"bytes stack frame", "bytes spill stores", "bytes spill loads"})
      EXPECT_EQ(largest(log, none), 0) << log;
    EXPECT_EQ(log.find("C75"), log.npos) << log;
    EXPECT_GT(job.registers(), 0) << log;
    EXPECT_LE(job.registers(), 255) << log;
    const auto& image = job.result->image;
    ASSERT_GT(image.size(), 4u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(image.data()), 4), "\177ELF");
    if (std::getenv("FUSEPLAN_COMPILE_REPORT") != nullptr)
      std::printf("%s: %d registers, %.0f ms\n", job.name().c_str(), job.registers(), job.ms);
  }
  void report(double seconds) const {
    double sum = 0;
    for (const Job& job : jobs_) sum += job.ms;
    const Job& slowest = *std::ranges::max_element(jobs_, {}, &Job::ms);
    std::printf("%zu kernels by NVRTC %s in %.0f s, %.0f ms each, at most %.0f ms: %s\n",
                jobs_.size(), cuda::nvrtc_version().c_str(), seconds,
                sum / static_cast<double>(jobs_.size()), slowest.ms, slowest.name().c_str());
  }

  std::vector<Job> jobs_;
  std::set<std::pair<std::string, std::string>> known_;
  int added_ = 0;
};

/// All for all take two cores many minutes; without this, most things take their turn.
bool compile_all() { return std::getenv("FUSEPLAN_COMPILE_ALL") != nullptr; }

// Each solver's first sample for every architecture, the others for one after the other in turn.
TEST_F(MachineCode, EverySampleInEveryTypeAndLayout) {
  const bool all = compile_all();
  std::size_t turn = 0;
  for (const Solver* solver : gpu_solvers())
    for (const std::string& text : solver->samples())
      for (fuseplanDataType_t type : kTypes)
        for (bool channels_last : {false, true}) {
          const std::string form =
              driver::to_text(converted(driver::parse_problem(text), type, channels_last));
          const std::string its = archs()[turn++ % archs().size()];
          for (const std::string& arch : archs()) {
            if (!all && text != solver->samples().front() && arch != its) continue;
            const Asked question(form, arch);
            if (!question.accepted_by(*solver)) continue;
            const auto config = solver->configs(question.get()).front();
            add(form, solver->build(question.get(), config), arch);
          }
        }
  EXPECT_GT(added(), all ? 1500 : 300);
}

// Of each solver's first sample, in both layouts: each configuration for one after the other of the
// architectures that have it.
TEST_F(MachineCode, EveryConfiguration) {
  std::size_t turn = 0;
  for (const Solver* solver : gpu_solvers())
    for (bool channels_last : {false, true}) {
      const ProblemSpec sample = driver::parse_problem(solver->samples().front());
      const std::string form = driver::to_text(converted(sample, sample.input.type, channels_last));
      std::map<std::string, std::vector<std::string>> archs_of;
      for (const std::string& arch : archs()) {
        const Asked question(form, arch);
        if (!question.accepted_by(*solver)) continue;
        for (const std::string& config : solver->configs(question.get()))
          archs_of[config].push_back(arch);
      }
      for (const auto& [config, its] : archs_of) {
        const std::string& chosen = its[turn++ % its.size()];
        for (const std::string& arch : its) {
          if (!compile_all() && arch != chosen) continue;
          const Asked question(form, arch);
          add(std::string(solver->id()) + ":" + config + " " + form,
              solver->build(question.get(), config), arch);
        }
      }
    }
  EXPECT_GT(added(), compile_all() ? 150 : 60);
}

TEST_F(MachineCode, EveryActivation) {
  for (const ActivationInfo& activation : all_activations()) {
    const std::string text = std::string("f16:2x64x8x8:nhwc;activation(") + activation.text + ")";
    const Asked question(text, "sm_80");
    add(text, find_solver("gpu_pointwise")->build(question.get(), "default"), "sm_80");
  }
}

TEST_F(MachineCode, TwiceGivesTheSameBytes) {
  const Asked question(find_solver("gpu_conv")->samples().front(), "sm_90");
  const std::string source = find_solver("gpu_conv")->build(question.get(), "64x64").gpu->source();
  EXPECT_EQ(cuda::compile_source(source, "sm_90").image,
            cuda::compile_source(source, "sm_90").image);
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
