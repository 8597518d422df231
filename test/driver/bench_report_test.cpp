// SPDX-License-Identifier: MIT
// What a bench says of times that are known: ratios, means, totals, and that its files are whole.
#include <gtest/gtest.h>

#include <cmath>

#include "driver/bench/report.hpp"
#include "driver/bench/summary.hpp"

namespace fuseplan::driver {
namespace {

BenchPeer peer_of(double us, const char* way = "fused: bias") {
  BenchPeer peer;
  peer.way = way;
  peer.us = us;
  peer.agrees = true;
  peer.ways = {{way, "contender", "jit", us}};
  return peer;
}

BenchRow row_of(const char* name, double us, double peer_us, std::int64_t count) {
  BenchRow row;
  row.name = name;
  row.solver = "cpu_direct";
  row.us = us;
  row.count = count;
  row.flops = 2e6;
  row.bytes = 1e5;
  row.peak_gflops = 100;
  row.copy_gbps = 10;
  row.verified = true;
  row.peers = {peer_of(peer_us)};
  return row;
}

BenchRun run_of_three() {
  BenchRun run;
  run.list = "three.csv", run.layout = "nhwc", run.dtype = "f32", run.batch = 1;
  run.chain = "conv + <bias> & \"relu\"";
  run.device = "a processor";
  run.peers = {"peer 3.1"};
  run.rows = {row_of("one", 100, 200, 1), row_of("two", 50, 40, 10), row_of("three", 10, 40, 2)};
  return run;
}

TEST(BenchSummary, RatioIsPeerTimeOverOurs) {
  const BenchRun run = run_of_three();
  EXPECT_DOUBLE_EQ(*run.rows[0].ratio(0), 2);
  EXPECT_DOUBLE_EQ(*run.rows[1].ratio(0), 0.8);
  const BenchSummary s = summarize(run, 0);
  EXPECT_EQ(s.rows, 3u);
  EXPECT_NEAR(s.mean_ratio, std::cbrt(2 * 0.8 * 4), 1e-12);
  EXPECT_DOUBLE_EQ(s.worst_ratio, 0.8);
  EXPECT_EQ(s.worst_row, "two");
}

TEST(BenchSummary, NetworkWeighsRowsByTheirCounts) {
  const BenchSummary s = summarize(run_of_three(), 0);
  EXPECT_DOUBLE_EQ(s.us, 100 + 10 * 50 + 2 * 10);
  EXPECT_DOUBLE_EQ(s.peer_us, 200 + 10 * 40 + 2 * 40);
  EXPECT_DOUBLE_EQ(s.network_ratio(), 680.0 / 620.0);
  EXPECT_FALSE(s.folded_us);
  EXPECT_FALSE(s.free_layout_us);
}

TEST(BenchSummary, TotalOfAWayTakesTheContenderWhereTheWayIsNone) {
  BenchRun run = run_of_three();
  run.rows[1].peers[0].folded_us = 30;
  const BenchSummary s = summarize(run, 0);
  ASSERT_TRUE(s.folded_us);
  EXPECT_DOUBLE_EQ(*s.folded_us, 200 + 10 * 30 + 2 * 40);
}

TEST(BenchSummary, RefusedRowsCountNowhere) {
  BenchRun run = run_of_three();
  run.rows[2].peers[0] = {};
  run.rows[2].peers[0].refusal = "no such activation";
  const BenchSummary s = summarize(run, 0);
  EXPECT_EQ(s.rows, 2u);
  EXPECT_NEAR(s.mean_ratio, std::sqrt(2 * 0.8), 1e-12);
  EXPECT_DOUBLE_EQ(s.us, 600);
  EXPECT_FALSE(run.rows[2].ratio(0));
  EXPECT_NE(bench_table(run).find("refused: no such activation"), std::string::npos);
}

TEST(BenchRow, RoofIsTheNarrowerOfArithmeticAndMemory) {
  BenchRow row = row_of("row", 40, 80, 1);
  EXPECT_DOUBLE_EQ(row.roof_share(row.us), 20.0 / 40);  // 2e6 / 100 GFLOP/s = 20 us
  row.copy_gbps = 4;                                    // 1e5 / 4 GB/s = 25 us
  EXPECT_DOUBLE_EQ(row.roof_share(row.us), 25.0 / 40);
  EXPECT_DOUBLE_EQ(row.gflops(), 50);
  EXPECT_DOUBLE_EQ(row.gbps(), 2.5);
}

TEST(BenchRow, IsRightOnlyIfTheOracleAndThePeersSaySo) {
  BenchRow row = row_of("row", 1, 1, 1);
  EXPECT_TRUE(row.right());
  row.peers[0].agrees = false;
  EXPECT_FALSE(row.right());
  row.peers[0].refusal = "cannot";
  EXPECT_TRUE(row.right());
  row.verified = false;
  EXPECT_FALSE(row.right());
}

TEST(BenchReport, TableHasRowsAndSummary) {
  const std::string table = bench_table(run_of_three());
  for (const char* piece : {"one", "2.00x", "0.80x", "geometric mean 1.857x over 3 rows",
                            "worst 0.800x (two)", "680.0 us, 1.097x"})
    EXPECT_NE(table.find(piece), std::string::npos) << piece << " is not in\n" << table;
}

TEST(BenchReport, JsonReadsBack) {
  const auto json = nlohmann::json::parse(bench_json({run_of_three(), run_of_three()}).dump());
  ASSERT_EQ(json["runs"].size(), 2u);
  const auto& run = json["runs"][1];
  EXPECT_EQ(run["rows"].size(), 3u);
  EXPECT_DOUBLE_EQ(run["rows"][1]["peers"][0]["ratio"], 0.8);
  EXPECT_TRUE(run["rows"][1]["peers"][0]["folded_us"].is_null());
  EXPECT_EQ(run["summaries"][0]["worst_row"], "two");
  EXPECT_DOUBLE_EQ(run["summaries"][0]["network_ratio"], 680.0 / 620.0);
}

BenchRun run_with_plans() {
  BenchRun run = run_of_three();
  BenchRow& row = run.rows[0];
  row.compile_us = 250e3, row.first_call_us = 40;
  row.peers[0].ways[0].plan = PlanTimes{812e3, 95, 1100, true};
  row.peers[0].refused = {{"graph, in two", "there is no engine"}};
  return run;
}

TEST(BenchReport, TableSaysWhatGettingReadyTook) {
  const std::string table = bench_table(run_with_plans());
  EXPECT_NE(table.find("fuseplan: plan 250.00 ms (cache miss), first call 40.0 us"), table.npos);
  EXPECT_NE(table.find("peer 3.1, fused: bias: plan 812.00 ms (the process's first), loaded again "
                       "in 1100.0 us, first call 95.0 us; jit"),
            table.npos);
  EXPECT_NE(table.find("peer 3.1, graph, in two: refused: there is no engine"), table.npos);
  EXPECT_EQ(bench_table(run_of_three()).find(": plan "), table.npos);
}

TEST(BenchReport, JsonHasPlansAndRefusals) {
  const auto rows = bench_json({run_with_plans()})["runs"][0]["rows"];
  const auto peer = rows[0]["peers"][0];
  EXPECT_EQ(peer["ways"][0]["plan"]["build_us"], 812e3);
  EXPECT_EQ(peer["ways"][0]["plan"]["load_us"], 1100);
  EXPECT_EQ(peer["ways"][0]["plan"]["first_call_us"], 95);
  EXPECT_EQ(peer["ways"][0]["plan"]["first_in_process"], true);
  EXPECT_EQ(peer["refused"][0]["way"], "graph, in two");
  EXPECT_EQ(peer["refused"][0]["reason"], "there is no engine");
  EXPECT_FALSE(rows[1]["peers"][0]["ways"][0].contains("plan"));
}

std::size_t count_of(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++count;
  return count;
}

TEST(BenchReport, SvgHasABarARowAndNothingFromElsewhere) {
  const std::string svg = bench_svg({run_of_three()});
  EXPECT_EQ(count_of(svg, "<rect"), 3u + 1u);  // bars and the legend's
  EXPECT_EQ(count_of(svg, "<svg"), count_of(svg, "</svg>"));
  EXPECT_NE(svg.find("conv + &lt;bias&gt; &amp; &quot;relu&quot;"), std::string::npos);
  EXPECT_EQ(count_of(svg, "href"), 0u);
  EXPECT_EQ(count_of(svg, "http"), 1u);  // the name space
  EXPECT_EQ(count_of(svg, "nan") + count_of(svg, "inf"), 0u);
}

TEST(BenchReport, SvgBarsAreAsLongAsTheirRatios) {
  const std::string svg = bench_svg({run_of_three()});
  const auto width = [&](const char* row) {
    const std::size_t bar = svg.rfind("<rect", svg.find(std::string("<title>") + row + ":"));
    return std::stod(svg.substr(svg.find("width=\"", bar) + 7));
  };
  EXPECT_NEAR(width("one") / width("three"), 0.5, 1e-2);
  EXPECT_NEAR(width("two") / width("one"), 0.4, 1e-2);
}

}  // namespace
}  // namespace fuseplan::driver
