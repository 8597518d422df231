// SPDX-License-Identifier: MIT
#include "driver/measure.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "driver/bench/rounds.hpp"
#include "driver/case.hpp"
#include "driver/device/cuda.hpp"
#include "driver/device/rotation.hpp"
#include "driver/roof.hpp"
#include "driver/unfused.hpp"

namespace fuseplan::driver {
namespace {

// Alternates the works in batches of a few milliseconds until the time is used up; microseconds.
std::vector<double> times_us(const std::vector<Work>& works, const Stopwatch& stopwatch,
                             const MeasureOptions& options) {
  RoundLimits limits{.seconds = options.seconds, .batch = 4e-3, .stopwatch = stopwatch};
  if (options.iterations > 0)
    limits = {.seconds = 0, .batch = 0, .rounds = options.iterations, .stopwatch = stopwatch};
  std::vector<double> us = interleaved_medians(works, limits);
  for (double& value : us) value *= 1e6;
  return us;
}

double cached_peak(int threads) {
  static std::map<int, double> peaks;
  if (!peaks.contains(threads)) peaks[threads] = fma_peak_gflops(threads);
  return peaks[threads];
}

double cached_copy(double bytes, int threads) {
  static std::map<std::pair<std::size_t, int>, double> rates;
  // The roof of the cache level that the problem's data lives in.
  const auto size = static_cast<std::size_t>(bytes);
  const auto key = std::pair(size, threads);
  if (!rates.contains(key)) rates[key] = copy_gbps(size, threads);
  return rates[key];
}

void verify(Case& fused, Unfused* unfused, fuseplanHandle_t handle, Measurement& m) {
  fused.execute(handle);
  const test::Comparison comparison = fused.compare();
  m.verified = comparison.ok();
  m.max_rel_error = comparison.max_relative_error;
  if (!comparison.ok()) m.mismatch = comparison.describe();
  // Between separate ops 16-bit values are rounded, which the chain's bound does not allow for.
  if (unfused == nullptr || fused.problem().input.type != fuseplanFloat) return;
  unfused->execute(handle);
  const test::Comparison apart = test::compare(unfused->output(), fused.reference());
  m.unfused_verified = apart.ok();
  if (!apart.ok()) m.mismatch += "unfused: " + apart.describe();
}

void add_rates(const ProblemSpec& problem, double peak_gflops, double copy_gbps, Measurement& m) {
  const double seconds = m.fused_us * 1e-6;
  m.gflops = problem.conv_flops() / seconds * 1e-9;
  m.gbps = problem.bytes() / seconds * 1e-9;
  m.peak_gflops = peak_gflops;
  m.copy_gbps = copy_gbps;
  m.roof_fraction = std::max(peak_gflops > 0 ? m.gflops / peak_gflops : 0, m.gbps / m.copy_gbps);
}

void time_on_host(fuseplanHandle_t handle, Case& fused, Unfused* unfused,
                  const MeasureOptions& options, Measurement& m) {
  std::vector<Work> works{[&] { fused.launch(handle); }};
  if (unfused != nullptr) works.emplace_back([&] { unfused->execute(handle); });
  const std::vector<double> us = times_us(works, {}, options);
  m.fused_us = us[0];
  if (unfused != nullptr) m.unfused_us = us[1];
  int threads = 1;
  check(fuseplanGetThreadCount(handle, &threads));
  add_rates(fused.problem(), cached_peak(threads), cached_copy(fused.problem().bytes(), threads),
            m);
}

void time_on_device(fuseplanHandle_t handle, Case& fused, Unfused* unfused,
                    const MeasureOptions& options, Measurement& m) {
  const DeviceClock clock(handle);
  Rotation rotation(handle, clock.facts(), fused.input_at(), fused.input().bytes(),
                    fused.output().bytes());
  std::vector<Work> works{[&] {
    const Rotation::Turn turn = rotation.next();
    fused.launch(handle, turn.input, turn.output);
  }};
  if (unfused != nullptr)
    works.emplace_back([&] {
      const Rotation::Turn turn = rotation.next();
      unfused->launch(handle, turn.input, turn.output);
    });
  const std::vector<double> us = times_us(
      works, [&](const Work& work, int repeats) { return clock.seconds(work, repeats); }, options);
  m.fused_us = us[0];
  if (unfused != nullptr) m.unfused_us = us[1];
  static const double copy = device_copy_gbps(handle, clock);
  add_rates(fused.problem(), clock.facts().nominal_gflops(fused.problem().input.type), copy, m);
}

}  // namespace

std::optional<double> Measurement::speedup() const {
  if (!unfused_us) return std::nullopt;
  return *unfused_us / fused_us;
}

Handle make_handle(const MeasureOptions& options) {
  auto handle = make<Handle>(fuseplanCreateForDevice, options.device.c_str());
  if (!options.library_options.empty())
    check(fuseplanSetOptions(handle.get(), options.library_options.c_str()));
  if (options.threads > 0) check(fuseplanSetThreadCount(handle.get(), options.threads));
  return handle;
}

Measurement measure(fuseplanHandle_t handle, const ProblemSpec& problem,
                    const MeasureOptions& options) {
  Measurement m;
  m.name = problem.name;
  m.problem = to_text(problem);
  m.published_speedup = problem.published_speedup;
  m.count = problem.count;
  m.device = text_of(
      [&](char* text, std::size_t* size) { return fuseplanGetDeviceName(handle, text, size); });
  const bool gpu = is_gpu(options.device);
  Case fused(problem, {.device = gpu ? handle : nullptr});
  fused.compile(handle);
  if (options.constant_weights) fused.set_constant_weights();
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle, fused.plan(), &info));
  m.solver = info.solver;
  m.config = info.config;
  m.kernels = info.kernelCount;
  m.compile_us = info.compileMicroseconds;
  m.cache_hit = info.cacheHit != 0;

  std::optional<Unfused> unfused;
  if (options.unfused) unfused.emplace(fused, handle);
  if (options.verify) verify(fused, unfused ? &*unfused : nullptr, handle, m);
  (gpu ? time_on_device : time_on_host)(handle, fused, unfused ? &*unfused : nullptr, options, m);
  return m;
}

}  // namespace fuseplan::driver
