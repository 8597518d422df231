// SPDX-License-Identifier: MIT
#include "driver/measure.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "driver/case.hpp"
#include "driver/roof.hpp"
#include "driver/unfused.hpp"

namespace fuseplan::driver {
namespace {

double seconds_of(const std::function<void()>& work, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Alternates the works in batches of a few milliseconds until the time is used up; microseconds.
std::vector<double> interleaved_us(const std::vector<std::function<void()>>& works,
                                   const MeasureOptions& options) {
  constexpr double kBatch = 4e-3;
  std::vector<int> repeats;
  for (const auto& work : works) {
    work();  // warm caches and packed weights
    const double once = std::max(1e-8, seconds_of(work, 1));
    repeats.push_back(std::clamp(static_cast<int>(kBatch / once), 1, 100000));
  }
  std::vector<std::vector<double>> samples(works.size());
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int exact = options.iterations;
  while (exact > 0 ? samples[0].size() < static_cast<std::size_t>(exact)
                   : samples[0].size() < 5 || spent() < options.seconds)
    for (std::size_t i = 0; i < works.size(); ++i) {
      const int count = exact > 0 ? 1 : repeats[i];
      samples[i].push_back(seconds_of(works[i], count) / count);
    }
  std::vector<double> result;
  for (const auto& list : samples) result.push_back(median(list) * 1e6);
  return result;
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

void add_rates(const ProblemSpec& problem, int threads, Measurement& m) {
  const double seconds = m.fused_us * 1e-6;
  m.gflops = problem.conv_flops() / seconds * 1e-9;
  m.gbps = problem.bytes() / seconds * 1e-9;
  m.peak_gflops = cached_peak(threads);
  m.copy_gbps = cached_copy(problem.bytes(), threads);
  m.roof_fraction = std::max(m.gflops / m.peak_gflops, m.gbps / m.copy_gbps);
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

Handle make_running_handle(const MeasureOptions& options) {
  Handle handle = make_handle(options);
  if (!options.device.starts_with("cpu"))
    throw std::runtime_error("--device " + options.device +
                             ": this command's tensors lie in host memory, which kernels on a CPU "
                             "read; other devices can be asked with explain, support and cache");
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
  Case fused(problem);
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
  std::vector<std::function<void()>> works{[&] { fused.launch(handle); }};
  if (unfused) works.emplace_back([&] { unfused->execute(handle); });
  const std::vector<double> us = interleaved_us(works, options);
  m.fused_us = us[0];
  if (unfused) m.unfused_us = us[1];
  int threads = 1;
  check(fuseplanGetThreadCount(handle, &threads));
  add_rates(problem, threads, m);
  return m;
}

}  // namespace fuseplan::driver
