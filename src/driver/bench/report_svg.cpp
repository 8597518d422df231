// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/bench/report.hpp"
#include "driver/bench/summary.hpp"

namespace fuseplan::driver {
namespace {

// Pixels. A panel is as wide as a README's column.
constexpr double kWidth = 860, kLabels = 190, kValues = 200, kBar = 11, kGap = 7, kHead = 56,
                 kLegend = 18, kFoot = 34;
constexpr double kPlot = kWidth - kLabels - kValues, kRatios = kWidth - kValues + 58,
                 kTimes = kRatios + 12;
constexpr const char* kSeries[] = {"s0", "s1", "s2", "s3"};

constexpr const char* kStyle =
    "<style>"
    "text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#57606a}"
    ".title{font-size:15px;font-weight:600;fill:#24292f}.name,.value{fill:#24292f}"
    ".grid{stroke:#8c959f;stroke-opacity:.35}.one{stroke:#57606a;stroke-width:1.5}"
    ".mean{stroke-dasharray:4 3;stroke-width:1.5;fill:none}"
    ".s0{fill:#1f78c8;stroke:#1f78c8}.s1{fill:#d9822b;stroke:#d9822b}"
    ".s2{fill:#3c9d62;stroke:#3c9d62}.s3{fill:#9b6cc3;stroke:#9b6cc3}"
    ".slower{fill-opacity:.45}"
    "@media(prefers-color-scheme:dark){text{fill:#9da7b3}.title,.name,.value{fill:#e6edf3}"
    ".one{stroke:#9da7b3}}"
    "</style>\n";

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string label(double x, double y, const char* css, const char* anchor,
                  const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                     x, y, css, anchor, escaped(text));
}

std::string vertical(double x, double top, double bottom, const std::string& css) {
  return fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" class=\"{3}\"/>\n", x, top, bottom, css);
}

std::string milliseconds(double us) {
  return us < 1000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

double largest_ratio(const BenchRun& run) {
  double largest = 1;
  for (const BenchRow& row : run.rows)
    for (std::size_t peer = 0; peer < row.peers.size(); ++peer)
      largest = std::max(largest, row.ratio(peer).value_or(0));
  return largest;
}

/// One run: rows from top to bottom, ratios from left to right on a linear scale from 0.
class Panel {
 public:
  Panel(const BenchRun& run, double top) : run_(run), top_(top) {
    step_ = largest_ratio(run) > 12 ? 5 : largest_ratio(run) > 5 ? 1 : 0.5;
    last_ = step_ * std::ceil(largest_ratio(run) / step_ + 1e-9);
  }
  double height() const { return rows_top() - top_ + rows_height() + kFoot; }
  std::string text() const {
    std::string svg = label(0, top_ + 16, "title", "start", run_.title());
    svg += label(0, top_ + 34, "", "start", run_.device);
    svg += label(kTimes, rows_top() - 8, "", "start", "peer : fuseplan");
    svg += legend() + axis();
    double y = rows_top();
    for (const BenchRow& row : run_.rows) svg += bars(row, y), y += row_height();
    // Above the bars, or they would hide it.
    return svg + vertical(x_of(1), rows_top() - 4, rows_top() + rows_height(), "one");
  }

 private:
  double rows_top() const {
    return top_ + kHead + kLegend * static_cast<double>(run_.peers.size());
  }
  double row_height() const { return kBar * static_cast<double>(run_.peers.size()) + kGap; }
  double rows_height() const { return row_height() * static_cast<double>(run_.rows.size()); }
  double x_of(double ratio) const { return kLabels + kPlot * ratio / last_; }

  std::string legend() const {
    std::string svg;
    for (std::size_t peer = 0; peer < run_.peers.size(); ++peer) {
      const double y = top_ + 43 + kLegend * static_cast<double>(peer);
      const BenchSummary s = summarize(run_, peer);
      const std::string text =
          fmt::format("{} time / fuseplan time: geometric mean {:.2f} (dashed), worst {:.2f} ({})",
                      run_.peers[peer], s.mean_ratio, s.worst_ratio, s.worst_row);
      svg +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" class=\"{}\"/>\n",
                      0.0, y, kSeries[peer % 4]);
      svg += label(17, y + 10, "", "start", text);
      if (s.rows > 0)
        svg += vertical(x_of(s.mean_ratio), rows_top() - 4, rows_top() + rows_height(),
                        std::string("mean ") + kSeries[peer % 4]);
    }
    return svg;
  }

  std::string axis() const {
    std::string svg;
    const double bottom = rows_top() + rows_height();
    for (double ratio = 0; ratio < last_ + step_ / 2; ratio += step_) {
      svg += vertical(x_of(ratio), rows_top() - 4, bottom, "grid");
      svg += label(x_of(ratio), bottom + 14, "", "middle", fmt::format("{:g}x", ratio));
    }
    return svg;
  }

  std::string bars(const BenchRow& row, double y) const {
    std::string svg =
        label(kLabels - 8, y + row_height() / 2 + 1, "name", "end", row.name.substr(0, 26));
    for (std::size_t peer = 0; peer < row.peers.size(); ++peer, y += kBar) {
      const std::optional<double> ratio = row.ratio(peer);
      if (!ratio) continue;
      const BenchPeer& other = row.peers[peer];
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}{}\" "
          "stroke=\"none\" style=\"stroke:none\"><title>{}</title></rect>\n",
          kLabels, y, x_of(*ratio) - kLabels, kBar - 1, kSeries[peer % 4],
          *ratio < 1 ? " slower" : "",
          escaped(fmt::format("{}: fuseplan {} ({}), {} {} ({})", row.name, milliseconds(row.us),
                              row.solver, run_.peers[peer], milliseconds(other.us), other.way)));
      svg += label(kRatios, y + kBar - 1.5, "value", "end", fmt::format("{:.2f}x", *ratio));
      svg += label(kTimes, y + kBar - 1.5, "", "start",
                   fmt::format("{} : {}", milliseconds(other.us), milliseconds(row.us)));
    }
    return svg;
  }

  const BenchRun& run_;
  double top_, step_, last_;
};

}  // namespace

std::string bench_svg(const std::vector<BenchRun>& runs) {
  std::string panels;
  double top = 12;
  for (const BenchRun& run : runs) {
    const Panel panel(run, top);
    panels += panel.text();
    top += panel.height();
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-12 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
             "aria-label=\"fuseplan against its peers, per layer\">\n",
             kWidth + 24, top) +
         kStyle + panels + "</svg>\n";
}

}  // namespace fuseplan::driver
