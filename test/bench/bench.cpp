// SPDX-License-Identifier: MIT
// Every layer of the problem lists as a Google Benchmark, fused and op by op, with GFLOP/s, GB/s
// and the share of the roof measured in the same process. Filter and format with the library's
// flags:
//
//   fuseplan-bench --benchmark_filter='resnet50.*nhwc.*fused' --benchmark_repetitions=5
//
// FUSEPLAN_THREADS sets the number of threads; the default here is one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "driver/case.hpp"
#include "driver/problem_list.hpp"
#include "driver/roof.hpp"
#include "driver/unfused.hpp"

namespace fuseplan::driver {
namespace {

Handle bench_handle() {
  auto handle = make<Handle>(fuseplanCreate);
  if (std::getenv("FUSEPLAN_THREADS") == nullptr) check(fuseplanSetThreadCount(handle.get(), 1));
  return handle;
}

int threads_of(fuseplanHandle_t handle) {
  int threads = 1;
  check(fuseplanGetThreadCount(handle, &threads));
  return threads;
}

double cached(std::map<double, double>& known, double key, double (*measure)(double, int),
              int threads) {
  if (!known.contains(key)) known[key] = measure(key, threads);
  return known[key];
}

void report(benchmark::State& state, const ProblemSpec& problem, int threads) {
  static std::map<double, double> peaks, copies;
  const auto peak = [](double, int t) { return fma_peak_gflops(t); };
  const auto copy = [](double bytes, int t) {
    return copy_gbps(static_cast<std::size_t>(bytes), t);
  };
  const double compute = problem.conv_flops() / (cached(peaks, 0, peak, threads) * 1e9);
  const double memory = problem.bytes() / (cached(copies, problem.bytes(), copy, threads) * 1e9);
  using benchmark::Counter;
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["GFLOP/s"] = Counter(problem.conv_flops() * 1e-9, rate);
  state.counters["GB/s"] = Counter(problem.bytes() * 1e-9, rate);
  state.counters["roof"] = Counter(std::max(compute, memory), rate);
}

void run_fused(benchmark::State& state, const ProblemSpec& problem) {
  const Handle handle = bench_handle();
  Case fused(problem);
  fused.compile(handle.get());
  fused.set_constant_weights();
  fused.execute(handle.get());
  for (auto _ : state) fused.launch(handle.get());
  report(state, problem, threads_of(handle.get()));
}

void run_unfused(benchmark::State& state, const ProblemSpec& problem) {
  const Handle handle = bench_handle();
  Case fused(problem);
  Unfused unfused(fused, handle.get());
  unfused.execute(handle.get());
  for (auto _ : state) unfused.execute(handle.get());
  report(state, problem, threads_of(handle.get()));
}

void register_list(const std::string& list, fuseplanDataType_t type, bool channels_last) {
  for (const ProblemSpec& problem : read_list(list + ".csv", {{}, 0, type, channels_last})) {
    const std::string name =
        list + "/" + problem.name + "/" + name_of(type) + "/" + (channels_last ? "nhwc" : "nchw");
    benchmark::RegisterBenchmark((name + "/fused").c_str(), [problem](benchmark::State& s) {
      run_fused(s, problem);
    })->UseRealTime();
    benchmark::RegisterBenchmark((name + "/unfused").c_str(), [problem](benchmark::State& s) {
      run_unfused(s, problem);
    })->UseRealTime();
  }
}

// The smallest plan there is: what a call costs.
void register_overhead() {
  const ProblemSpec smallest = parse_problem("f32:1x16x4x4:nchw;activation(relu)");
  benchmark::RegisterBenchmark("overhead/1x16x4x4/relu", [smallest](benchmark::State& s) {
    run_fused(s, smallest);
  })->UseRealTime();
}

}  // namespace
}  // namespace fuseplan::driver

int main(int argc, char** argv) {
  using namespace fuseplan::driver;
  for (const char* list : {"resnet50", "vgg16", "mobilenet_v2", "inception_mix", "depthwise",
                           "miopen-docs-cba", "miopen-docs-na"})
    for (fuseplanDataType_t type : {fuseplanFloat, fuseplanHalf, fuseplanBFloat16})
      for (bool channels_last : {false, true}) register_list(list, type, channels_last);
  register_overhead();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
