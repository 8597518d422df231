// SPDX-License-Identifier: MIT
// Whether cuDNN itself takes the graphs that the bench's peer makes of the problem lists, for an
// H200 that need not be there: cuDNN 9.8 and later build plans from a device's properties. Asks its
// heuristics for every row, and builds some plans; FUSEPLAN_CUDNN_PLANS=all builds one for each row
// and prints the CPU time beside fuseplan's own for the same chain by NVRTC.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

#include "backend/cuda/nvrtc.hpp"
#include "driver/cudnn/graph_choice.hpp"
#include "driver/problem_list.hpp"
#include "expr/passes.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

using driver::CudnnBackend;
using driver::CudnnDescriptor;
using driver::CudnnGraph;
using driver::CudnnHeuristics;
using driver::CudnnPlan;
using driver::GraphForm;
using driver::GraphTarget;
using driver::ProblemSpec;

// What cuDNN writes of such a device, by its own names; cudaDeviceProp has the same values.
constexpr const char* kH200 = R"({"cudaDeviceId": 0, "deviceName": "NVIDIA H200", "deviceVer": 900,
  "driverVer": 13000, "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
  "l2CacheSize": 62914560, "totalGlobalMem": 150110011392})";

// Of the process's CPU time, which others' programs do not disturb.
double ms_since(std::clock_t start) {
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The library, and the device it is told of.
struct Deviceless {
  CudnnBackend backend;
  CudnnDescriptor device{driver::device_of_json(backend, kH200)};
  GraphTarget target() const { return {nullptr, &device}; }
};
Deviceless& deviceless() {
  static Deviceless& once = *new Deviceless;
  return once;
}

bool builds_all() { return std::getenv("FUSEPLAN_CUDNN_PLANS") != nullptr; }

std::string plan_text(ProblemSpec problem) {
  for (driver::OpSpec& op : problem.ops) op.parameters.reset();
  return driver::to_text(problem);
}

/// Milliseconds of CPU time from the text of a chain to machine code for the same device.
double ms_of_ours(const ProblemSpec& problem) {
  const auto start = std::clock();
  const Problem parsed = parse_problem(plan_text(problem));
  const SplitChain chain = optimize(lower(parsed), {});
  Traits traits;
  traits.backend = "cuda";
  traits.arch = "sm_90a";
  const Question question{parsed, chain, traits};
  const Solver& solver = *select_solvers(question, {}).accepted.front();
  const Kernel kernel = solver.build(question, solver.configs(question).front());
  (void)cuda::compile_source(kernel.gpu->source(), traits.arch);
  return ms_since(start);
}

struct List {
  const char* file;
  std::int64_t batch;
};
constexpr List kLists[] = {{"resnet50.csv", 256},
                           {"vgg16.csv", 256},
                           {"miopen-docs-cba.csv", 64},
                           {"miopen-docs-na.csv", 64}};

/// A graph of one of the peer's ways.
struct Way {
  const char* name;
  GraphForm form;
};
std::vector<Way> ways_of(const ProblemSpec& problem) {
  std::vector<Way> ways{{"fused", {}}};
  if (problem.conv() == nullptr) return ways;
  ways.push_back({"conv", {.end = 1}});
  ways.push_back({"the rest", {.first = 1}});
  ways.push_back({"bn in weights", {.folded = true}});
  return ways;
}

/// What was seen of one way over the rows of a list.
struct Tally {
  int rows = 0, taken = 0, run_time = 0;
  std::size_t fewest = 1000, most = 0;
  std::vector<double> heuristic_ms, plan_ms, load_ms, ours_ms;
};

class Acceptance : public testing::TestWithParam<std::tuple<List, const char*, bool>> {
 protected:
  void ask(const ProblemSpec& problem, const Way& way, bool build) {
    Tally& tally = tallies_[way.name];
    ++tally.rows;
    const Deviceless& cudnn = deviceless();
    const auto start = std::clock();
    const CudnnGraph graph(cudnn.backend, cudnn.target(), driver::graph_of(problem, way.form));
    std::vector<CudnnDescriptor> proposals = graph.configurations(CudnnHeuristics::a, 64);
    if (proposals.empty()) proposals = graph.configurations(CudnnHeuristics::fallback, 64);
    tally.heuristic_ms.push_back(ms_since(start));
    tally.fewest = std::min(tally.fewest, proposals.size());
    tally.most = std::max(tally.most, proposals.size());
    if (proposals.empty()) return;
    ++tally.taken;
    tally.run_time += driver::facts_of(cudnn.backend, proposals[0]).compiled_at_run_time ? 1 : 0;
    if (!build) return;
    const auto build_start = std::clock();
    const CudnnPlan plan(graph, std::move(proposals[0]));
    tally.plan_ms.push_back(ms_since(build_start));
    const std::string text = plan.json();
    const auto load_start = std::clock();
    const CudnnPlan again(cudnn.backend, cudnn.target(), text);
    tally.load_ms.push_back(ms_since(load_start));
    EXPECT_EQ(again.workspace(), plan.workspace());
    if (std::string(way.name) == "fused" && cuda::nvrtc_problem().empty())
      tally.ours_ms.push_back(ms_of_ours(problem));
  }

  void TearDown() override {
    for (const auto& [name, tally] : tallies_) {
      std::printf(
          "  %s: %d of %d rows, %zu to %zu engine configurations, first compiled at run time in %d",
          name.c_str(), tally.taken, tally.rows, tally.fewest, tally.most, tally.run_time);
      std::printf("; heuristic %.0f ms", median(tally.heuristic_ms));
      if (!tally.plan_ms.empty())
        std::printf("; plan %.0f ms (%.0f to %.0f), from its text %.1f ms", median(tally.plan_ms),
                    std::ranges::min(tally.plan_ms), std::ranges::max(tally.plan_ms),
                    median(tally.load_ms));
      if (!tally.ours_ms.empty())
        std::printf("; fuseplan by NVRTC %.0f ms (%.0f to %.0f)", median(tally.ours_ms),
                    std::ranges::min(tally.ours_ms), std::ranges::max(tally.ours_ms));
      std::printf("\n");
    }
  }

  std::map<std::string, Tally> tallies_;
};

TEST_P(Acceptance, OfEveryRow) {
  const auto& [list, type, last] = GetParam();
  std::printf("%s, %s, %s, batch %d\n", list.file, type, last ? "NHWC" : "NCHW",
              static_cast<int>(list.batch));
  const std::vector<ProblemSpec> rows =
      driver::read_list(list.file, {"", list.batch, driver::parse_type(type), last});
  if (builds_all() && cuda::nvrtc_problem().empty()) (void)ms_of_ours(rows[0]);  // loads NVRTC
  for (const ProblemSpec& problem : rows)
    for (const Way& way : ways_of(problem)) {
      SCOPED_TRACE(problem.name + ", " + way.name);
      ask(problem, way, builds_all() || (&problem == &rows[1] && last));
    }
  // In NCHW cuDNN 9.19 has an engine for a convolution and its term, and for no other graph that
  // has something a channel. A version that does would be news.
  for (const auto& [name, tally] : tallies_) {
    const bool per_channel = name == "fused" || name == "the rest";
    EXPECT_EQ(tally.taken, last || !per_channel ? tally.rows : 0) << name;
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<List, const char*, bool>>& info) {
  const auto& [list, type, last] = info.param;
  std::string name = std::string(list.file) + "_" + type + (last ? "_nhwc" : "_nchw");
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Lists, Acceptance,
                         testing::Combine(testing::ValuesIn(kLists),
                                          testing::Values("f16", "bf16", "f32"), testing::Bool()),
                         name_of);

TEST(AcceptanceOfActivations, EveryOneThatThePeerHas) {
  const Deviceless& cudnn = deviceless();
  for (const driver::NamedActivation& activation : driver::all_activations()) {
    ProblemSpec problem =
        driver::parse_problem("f16:8x64x28x28:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1)");
    driver::append_chain(problem, "norm;activation(" + std::string(activation.name) + ");add",
                         true);
    if (activation.mode == fuseplanActivationTANH) problem.ops[2].parameters = {{1, 1, 0}};
    std::optional<driver::GraphSpec> spec;
    try {
      spec = driver::graph_of(problem);
    } catch (const std::invalid_argument& error) {
      std::printf("  %s: %s\n", activation.name, error.what());
      continue;
    }
    const CudnnGraph graph(cudnn.backend, cudnn.target(), *spec);
    std::vector<CudnnDescriptor> proposals = graph.configurations(CudnnHeuristics::a, 8);
    ASSERT_FALSE(proposals.empty()) << activation.name;
    const CudnnPlan plan(graph, std::move(proposals[0]));
    EXPECT_FALSE(plan.json().empty());
  }
}

TEST(AcceptanceOfMistakes, ComesWithWords) {
  const Deviceless& cudnn = deviceless();
  ProblemSpec problem =
      driver::parse_problem("f16:8x64x28x28:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1)");
  driver::GraphSpec spec = driver::graph_of(problem);
  spec.tensors[spec.nodes[0].y].spec.lens[2] += 1;
  try {
    const CudnnGraph graph(cudnn.backend, cudnn.target(), spec);
    ADD_FAILURE() << "cuDNN took an output that does not fit";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("CUDNN_STATUS_BAD_PARAM"), std::string::npos)
        << error.what();
  }
}

/// Why nothing can be asked; empty if it can.
std::string problem_with_cudnn() {
  // Found by its name when cuDNN opens libcuda.so.1.
  if (dlopen(FUSEPLAN_SILENT_CUDA, RTLD_NOW | RTLD_GLOBAL) == nullptr) return dlerror();
  try {
    (void)deviceless();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace
}  // namespace fuseplan::test

// Without cuDNN the program says so and ends with ctest's number for a test that was skipped.
int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  const std::string problem = fuseplan::test::problem_with_cudnn();
  if (problem.empty()) return RUN_ALL_TESTS();
  std::printf("SKIPPED: cuDNN is not asked: %s\n", problem.c_str());
  constexpr int kSkipped = 77;
  return kSkipped;
}
