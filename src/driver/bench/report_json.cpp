// SPDX-License-Identifier: MIT
#include "driver/bench/report.hpp"
#include "driver/bench/summary.hpp"

namespace fuseplan::driver {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json plan_json(const PlanTimes& plan) {
  return {{"build_us", plan.build_us},
          {"first_in_process", plan.first_in_process},
          {"first_call_us", plan.first_call_us},
          {"load_us", or_null(plan.load_us)}};
}

Json way_json(const BenchWay& way) {
  Json json = {{"way", way.name},
               {"role", way.role},
               {"implementation", way.implementation},
               {"us", way.us}};
  if (way.plan) json["plan"] = plan_json(*way.plan);
  return json;
}

Json peer_json(const std::string& title, const BenchPeer& peer, const std::optional<double>& ratio,
               double roof_share) {
  if (!peer.ran()) return {{"peer", title}, {"refusal", peer.refusal}};
  Json ways = Json::array(), refused = Json::array();
  for (const BenchWay& way : peer.ways) ways.push_back(way_json(way));
  for (const BenchRefusal& refusal : peer.refused)
    refused.push_back({{"way", refusal.way}, {"reason", refusal.reason}});
  return {{"peer", title},
          {"way", peer.way},
          {"us", peer.us},
          {"ratio", or_null(ratio)},
          {"roof_share", roof_share},
          {"folded_us", or_null(peer.folded_us)},
          {"free_layout_us", or_null(peer.free_layout_us)},
          {"beyond_us", or_null(peer.beyond_us)},
          {"agrees", peer.agrees},
          {"max_rel_difference", peer.max_relative_difference},
          {"ways", ways},
          {"refused", refused}};
}

Json row_json(const BenchRun& run, const BenchRow& row) {
  Json peers = Json::array();
  for (std::size_t i = 0; i < row.peers.size(); ++i)
    peers.push_back(peer_json(run.peers[i], row.peers[i], row.ratio(i),
                              row.peers[i].ran() ? row.roof_share(row.peers[i].us) : 0));
  Json json = {{"name", row.name},
               {"problem", row.problem},
               {"count", row.count},
               {"solver", row.solver},
               {"config", row.config},
               {"us", row.us},
               {"gflops", row.gflops()},
               {"gbps", row.gbps()},
               {"peak_gflops", row.peak_gflops},
               {"copy_gbps", row.copy_gbps},
               {"roof_share", row.roof_share(row.us)},
               {"verified", row.verified},
               {"max_rel_error", row.max_relative_error},
               {"peers", peers}};
  if (row.published_speedup > 0) json["published_speedup"] = row.published_speedup;
  if (row.first_call_us > 0) {
    json["compile_us"] = row.compile_us;
    json["cache"] = row.cache_hit ? "hit" : "miss";
    json["first_call_us"] = row.first_call_us;
  }
  if (!row.failure.empty())
    json = {{"name", row.name}, {"problem", row.problem}, {"failure", row.failure}};
  return json;
}

Json summary_json(const BenchRun& run, std::size_t peer) {
  const BenchSummary s = summarize(run, peer);
  return {{"peer", run.peers[peer]},
          {"rows", s.rows},
          {"mean_ratio", s.mean_ratio},
          {"worst_ratio", s.worst_ratio},
          {"worst_row", s.worst_row},
          {"network_us", s.us},
          {"network_peer_us", s.peer_us},
          {"network_ratio", s.rows > 0 ? Json(s.network_ratio()) : Json(nullptr)},
          {"network_folded_us", or_null(s.folded_us)},
          {"network_free_layout_us", or_null(s.free_layout_us)},
          {"roof_share", s.roof_share},
          {"peer_roof_share", s.peer_roof_share}};
}

}  // namespace

Json bench_json(const std::vector<BenchRun>& runs) {
  Json list = Json::array();
  for (const BenchRun& run : runs) {
    Json summaries = Json::array(), rows = Json::array();
    for (std::size_t i = 0; i < run.peers.size(); ++i) summaries.push_back(summary_json(run, i));
    for (const BenchRow& row : run.rows) rows.push_back(row_json(run, row));
    list.push_back({{"what", run.creation ? "creation" : "execution"},
                    {"list", run.list},
                    {"layout", run.layout},
                    {"dtype", run.dtype},
                    {"batch", run.batch},
                    {"chain", run.chain},
                    {"threads", run.threads},
                    {"raw_weights", run.raw_weights},
                    {"device", run.device},
                    {"summaries", summaries},
                    {"rows", rows}});
  }
  return {{"runs", list}};
}

}  // namespace fuseplan::driver
