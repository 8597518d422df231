// SPDX-License-Identifier: MIT
#include "driver/bench/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuseplan::driver {
namespace {

class GeometricMean {
 public:
  void add(double value) {
    sum_ += std::log(value);
    ++count_;
  }
  double value() const { return count_ == 0 ? 0 : std::exp(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// A network's total is known only if every row has the value; the contender stands in where a way
// does not exist because it would be the contender itself.
void add_total(std::optional<double>& total, const std::optional<double>& us, double otherwise,
               double count) {
  total = total.value_or(0) + us.value_or(otherwise) * count;
}

}  // namespace

double BenchRow::roof_share(double time_us) const {
  const double compute = peak_gflops > 0 ? flops / peak_gflops : 0;
  const double memory = copy_gbps > 0 ? bytes / copy_gbps : 0;
  return std::max(compute, memory) * 1e-3 / time_us;
}

std::optional<double> BenchRow::ratio(std::size_t peer) const {
  if (!peers.at(peer).ran()) return std::nullopt;
  return peers[peer].us / us;
}

bool BenchRow::right() const {
  return verified && std::all_of(peers.begin(), peers.end(),
                                 [](const BenchPeer& peer) { return !peer.ran() || peer.agrees; });
}

std::string BenchRun::title() const {
  std::string text = fmt::format("{}, {}, {}", list, layout, dtype);
  if (batch > 0) text += fmt::format(", batch {}", batch);
  text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  if (!chain.empty()) text += ", " + chain;
  if (raw_weights) text += ", weights changed before every call";
  if (creation) text += ", creation without cache";
  return text;
}

BenchSummary summarize(const BenchRun& run, std::size_t peer) {
  BenchSummary summary;
  GeometricMean ratios, roofs, peer_roofs;
  bool folded = false, free_layout = false;
  for (const BenchRow& row : run.rows) {
    const BenchPeer& other = row.peers.at(peer);
    if (!other.ran()) continue;
    const double ratio = *row.ratio(peer), count = static_cast<double>(row.count);
    if (summary.rows++ == 0 || ratio < summary.worst_ratio) {
      summary.worst_ratio = ratio;
      summary.worst_row = row.name;
    }
    ratios.add(ratio);
    roofs.add(row.roof_share(row.us));
    peer_roofs.add(row.roof_share(other.us));
    summary.us += row.us * count;
    summary.peer_us += other.us * count;
    folded = folded || other.folded_us;
    free_layout = free_layout || other.free_layout_us;
    add_total(summary.folded_us, other.folded_us, other.us, count);
    add_total(summary.free_layout_us, other.free_layout_us, other.us, count);
  }
  if (!folded) summary.folded_us.reset();
  if (!free_layout) summary.free_layout_us.reset();
  summary.mean_ratio = ratios.value();
  summary.roof_share = roofs.value();
  summary.peer_roof_share = peer_roofs.value();
  return summary;
}

}  // namespace fuseplan::driver
