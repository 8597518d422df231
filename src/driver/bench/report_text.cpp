// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "driver/bench/report.hpp"
#include "driver/bench/summary.hpp"

namespace fuseplan::driver {
namespace {

std::string time_text(double us) {
  return us < 1e4 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}
std::string time_text(const std::optional<double>& us) { return us ? time_text(*us) : "-"; }

std::string rate_text(const BenchRow& row) {
  if (row.bytes == 0) return "-";  // a creation
  return row.flops > 0 ? fmt::format("{:.1f} GFLOP/s", row.gflops())
                       : fmt::format("{:.1f} GB/s", row.gbps());
}

std::string check_text(const BenchRow& row) {
  if (row.right()) return "right";
  return row.verified ? "DIFFERS" : "WRONG";
}

std::string header() {
  return fmt::format(
      "{:<18} {:>10} {:>15} {:>5} | {:>10} {:>5} {:>7}  {:<36} {:>10} {:>10} {:>10}  {:<8}{}\n",
      "problem", "fuseplan", "rate", "roof", "peer", "roof", "ratio", "its way", "bn folded",
      "any layout", "as binary", "result", "solver");
}

std::string peer_columns(const BenchRow& row, std::size_t peer) {
  const BenchPeer& other = row.peers[peer];
  if (!other.ran()) return fmt::format("| refused: {}", other.refusal);
  return fmt::format("| {:>10} {:>4.0f}% {:>6.2f}x  {:<36.36} {:>10} {:>10} {:>10}  {:<8}{}",
                     time_text(other.us), 100 * row.roof_share(other.us), *row.ratio(peer),
                     other.way, time_text(other.folded_us), time_text(other.free_layout_us),
                     time_text(other.beyond_us), check_text(row), row.solver);
}

// What getting ready took, and what a peer that ran could not do.
std::string notes_text(const BenchRun& run, const BenchRow& row) {
  std::string text;
  bool planned = false;
  for (std::size_t i = 0; i < row.peers.size(); ++i) {
    for (const BenchWay& way : row.peers[i].ways) {
      if (!way.plan) continue;
      planned = true;
      const std::string loaded =
          way.plan->load_us ? ", loaded again in " + time_text(*way.plan->load_us) : "";
      text += fmt::format("    {}, {}: plan {}{}{}, first call {}; {}\n", run.peers[i], way.name,
                          time_text(way.plan->build_us),
                          way.plan->first_in_process ? " (the process's first)" : "", loaded,
                          time_text(way.plan->first_call_us), way.implementation);
    }
    if (!row.peers[i].ran()) continue;
    for (const BenchRefusal& refusal : row.peers[i].refused)
      text += fmt::format("    {}, {}: refused: {}\n", run.peers[i], refusal.way, refusal.reason);
  }
  if (!planned) return text;
  return fmt::format("    fuseplan: plan {} (cache {}), first call {}\n", time_text(row.compile_us),
                     row.cache_hit ? "hit" : "miss", time_text(row.first_call_us)) +
         text;
}

std::string row_text(const BenchRun& run, const BenchRow& row) {
  if (!row.failure.empty()) return fmt::format("{:<18.18} FAILED: {}\n", row.name, row.failure);
  std::string text;
  for (std::size_t peer = 0; peer < row.peers.size(); ++peer) {
    const std::string own =
        peer > 0 ? fmt::format("{:<18} {:>10} {:>15} {:>5} ", "", "", "", "")
                 : fmt::format("{:<18.18} {:>10} {:>15} {:>4.0f}% ", row.name, time_text(row.us),
                               rate_text(row), 100 * row.roof_share(row.us));
    text += own + peer_columns(row, peer);
    if (row.published_speedup > 0) text += fmt::format("  MIOpen's {:.2f}x", row.published_speedup);
    text += '\n';
  }
  if (!row.mismatch.empty()) text += "  " + row.mismatch + "\n";
  return text + notes_text(run, row);
}

std::string summary_text(const BenchRun& run, std::size_t peer) {
  const BenchSummary s = summarize(run, peer);
  if (s.rows == 0) return fmt::format("{}: ran none of the rows\n", run.peers[peer]);
  const std::string roofs = run.creation ? ""
                                         : fmt::format("; of roof {:.0f} % against {:.0f} %",
                                                       100 * s.roof_share, 100 * s.peer_roof_share);
  std::string text = fmt::format(
      "{} / fuseplan: geometric mean {:.3f}x over {} rows; worst {:.3f}x ({}){}\n"
      "  network (rows times their counts): {} against {}, {:.3f}x",
      run.peers[peer], s.mean_ratio, s.rows, s.worst_ratio, s.worst_row, roofs, time_text(s.us),
      time_text(s.peer_us), s.network_ratio());
  if (s.folded_us)
    text +=
        fmt::format("; with batchnorm folded into weights beforehand {}", time_text(*s.folded_us));
  if (s.free_layout_us)
    text += fmt::format("; in layouts of its own choice {}", time_text(*s.free_layout_us));
  return text + "\n";
}

}  // namespace

std::string bench_table(const BenchRun& run) {
  std::string text = fmt::format("{}\n{}\n", run.title(), run.device);
  text += header();
  for (const BenchRow& row : run.rows) text += row_text(run, row);
  for (std::size_t peer = 0; peer < run.peers.size(); ++peer) text += summary_text(run, peer);
  return text;
}

}  // namespace fuseplan::driver
