// SPDX-License-Identifier: MIT
#include "driver/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace fuseplan::driver {
namespace {

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string time_text(double us) {
  return us < 1e4 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

std::string rate_text(const Measurement& m) {
  return m.gflops > 0 ? fmt::format("{:.1f} GFLOP/s", m.gflops)
                      : fmt::format("{:.1f} GB/s", m.gbps);
}

std::string check_text(const Measurement& m) {
  if (!m.verified) return "not checked";
  return *m.verified && m.unfused_verified.value_or(true) ? "right" : "WRONG";
}

void add_means(const std::vector<Measurement>& measurements, std::string& text) {
  double log_speedup = 0, log_roof = 0;
  int speedups = 0;
  for (const Measurement& m : measurements) {
    log_roof += std::log(m.roof_fraction);
    if (const auto speedup = m.speedup()) log_speedup += std::log(*speedup), ++speedups;
  }
  const auto mean = [](double sum, double count) { return std::exp(sum / count); };
  text += fmt::format("{:<16} {:>11} {:>11} {:>16} {:>7.0f}%", "geometric mean", "", "", "",
                      100 * mean(log_roof, static_cast<double>(measurements.size())));
  if (speedups > 0) text += fmt::format(" {:>7.2f}x", mean(log_speedup, speedups));
  text += '\n';
}

}  // namespace

nlohmann::ordered_json to_json(const Measurement& m) {
  nlohmann::ordered_json json = {{"name", m.name},
                                 {"problem", m.problem},
                                 {"device", m.device},
                                 {"solver", m.solver},
                                 {"config", m.config},
                                 {"kernels", m.kernels},
                                 {"compile_us", m.compile_us},
                                 {"cache", m.cache_hit ? "hit" : "miss"},
                                 {"fused_us", m.fused_us},
                                 {"unfused_us", or_null(m.unfused_us)},
                                 {"speedup", or_null(m.speedup())},
                                 {"gflops", m.gflops},
                                 {"gbps", m.gbps},
                                 {"peak_gflops", m.peak_gflops},
                                 {"copy_gbps", m.copy_gbps},
                                 {"roof_fraction", m.roof_fraction},
                                 {"max_rel_error", or_null(m.max_rel_error)},
                                 {"verified", or_null(m.verified)},
                                 {"unfused_verified", or_null(m.unfused_verified)}};
  if (m.published_speedup > 0) json["published_speedup"] = m.published_speedup;
  return json;
}

std::string to_table(const std::vector<Measurement>& measurements) {
  std::string text =
      fmt::format("{:<16} {:>11} {:>11} {:>16} {:>8} {:>8}  {:<11} {:<13} {}\n", "problem", "fused",
                  "unfused", "rate", "of roof", "ratio", "result", "solver", "MIOpen's ratio");
  for (const Measurement& m : measurements) {
    const std::string unfused = m.unfused_us ? time_text(*m.unfused_us) : "-";
    const std::string ratio = m.speedup() ? fmt::format("{:.2f}x", *m.speedup()) : "-";
    const std::string published =
        m.published_speedup > 0 ? fmt::format("{:.2f}x", m.published_speedup) : "";
    // Names of problems given as text are the text; the table has no room for it.
    text += fmt::format("{:<16.16} {:>11} {:>11} {:>16} {:>7.0f}% {:>8}  {:<11} {:<13} {}\n",
                        m.name, time_text(m.fused_us), unfused, rate_text(m), 100 * m.roof_fraction,
                        ratio, check_text(m), m.solver, published);
    if (!m.mismatch.empty()) text += "  " + m.mismatch + "\n";
  }
  if (measurements.size() > 1) add_means(measurements, text);
  return text;
}

Progress::~Progress() {
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r%60s\r", "");
}

void Progress::step(const std::string& name) {
  ++done_;
  if (isatty(STDERR_FILENO) == 0) {
    std::fprintf(stderr, "[%zu/%zu] %.40s\n", done_, total_, name.c_str());
    return;
  }
  constexpr std::size_t kWidth = 24;
  const std::size_t filled = kWidth * done_ / total_;
  std::fprintf(stderr, "\r[%s%s] %zu/%zu %-20.20s", std::string(filled, '=').c_str(),
               std::string(kWidth - filled, ' ').c_str(), done_, total_, name.c_str());
}

}  // namespace fuseplan::driver
