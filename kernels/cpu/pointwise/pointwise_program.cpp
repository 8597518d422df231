// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/pointwise_program.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {

namespace {

constexpr std::int64_t kTaskBytes = 128 << 10;  ///< least work that is worth another thread
constexpr int kTasksPerThread = 4;              ///< so that one slow core does not hold up the rest
constexpr std::int64_t kLine = 16;              ///< floats of a cache line
constexpr std::int64_t kLaneGrain = 64;         ///< cut rows at whole cache lines of any dtype

std::int64_t arithmetic_bytes(const Expr& body) {
  std::int64_t functions = 0;
  for (Ref i = 0; i < body.graph.size(); ++i) functions += body.graph[i].leaf == Leaf::none;
  return functions;
}

}  // namespace

PointwiseProgram::PointwiseProgram(Walk walk, const SplitChain& chain,
                                   const PointwiseConfig& config, Rows rows, Rows streaming,
                                   const void* prologue)
    : walk_(std::move(walk)),
      runner_(chain, walk_.channels, prologue),
      rows_(rows),
      streaming_(streaming),
      channel_roots_(chain.channels.roots.size()),
      fold_(joined_rows(walk_, config.lanes)),
      piece_(walk_.is_strided() && config.lanes > 0 ? config.lanes : walk_.lanes.len),
      work_(walk_.bytes() + walk_.row_count() * walk_.lanes.len * arithmetic_bytes(chain.body)) {}

int PointwiseProgram::task_count(int threads) const {
  if (threads == 1) return 1;
  const std::int64_t most = std::int64_t{threads} * kTasksPerThread;
  return static_cast<int>(std::clamp<std::int64_t>(work_ / kTaskBytes, 1, most));
}

void PointwiseProgram::run(const Arguments& arguments) const {
  Scratch scratch;
  Launch launch{{arguments.input, arguments.output, arguments.elements, 0,
                 runner_.prepare(arguments, scratch)},
                1,
                rows_};
  if (streaming_ != nullptr && arguments.input != arguments.output) launch.rows = streaming_;
  if (fold_ > 0) repeat_channels(launch, scratch);
  const int tasks = task_count(arguments.parallel.threads());
  const std::int64_t rows = walk_.row_count();
  if (rows < tasks) {
    const std::int64_t pieces = walk_.lanes.len / (4 * kLaneGrain);
    launch.parts = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, ceil_div(tasks, rows)));
  }
  const std::int64_t units = rows * launch.parts;
  if (tasks == 1) return run_units(launch, {0, units});
  arguments.parallel(tasks, [&](int task) {
    Range range = split(units, tasks, task);  // at whole joined rows
    if (launch.parts == 1) range.first -= range.first % launch.place.fold;
    if (launch.parts == 1 && range.last < units) range.last -= range.last % launch.place.fold;
    run_units(launch, range);
  });
}

/// Lays the values of all channels one after the other for `fold_` rows and a vector behind them,
/// at the output's distance from a cache line, so that a kernel that stores whole lines reads whole
/// lines of them too.
void PointwiseProgram::repeat_channels(Launch& launch, Scratch& scratch) const {
  const std::int64_t channels = walk_.lanes.len, lanes = channels * fold_ + kLine;
  const std::int64_t stride = round_up(lanes, kLine);
  float* repeated =
      scratch.take_array<float>(channel_roots_ * static_cast<std::size_t>(stride) + kLine);
  const auto place = reinterpret_cast<std::uintptr_t>(launch.place.output);
  repeated += place / size_of(walk_.dtypes[Walk::kOutput]) % kLine;
  for (std::size_t root = 0; root < channel_roots_; ++root) {
    const auto number = static_cast<std::int64_t>(root);
    const float* from = launch.place.frame.channels + number * launch.place.frame.channel_stride;
    float* to = repeated + number * stride;
    for (std::int64_t i = 0; i < lanes; i += channels)
      std::copy_n(from, std::min(channels, lanes - i), to + i);
  }
  launch.place.frame.channels = repeated;
  launch.place.frame.channel_stride = stride;
  launch.place.fold = fold_;
}

void PointwiseProgram::run_units(const Launch& launch, Range units) const {
  const std::int64_t parts = launch.parts, lanes = walk_.lanes.len;
  if (parts > 1) {
    const std::int64_t grains = ceil_div(lanes, kLaneGrain);
    for (std::int64_t unit = units.first; unit < units.last; ++unit) {
      const std::int64_t part = unit % parts;
      const std::int64_t first = grains * part / parts * kLaneGrain;
      const std::int64_t last = std::min(grains * (part + 1) / parts * kLaneGrain, lanes);
      run_block(launch, {unit / parts, 1, first, last - first});
    }
    return;
  }
  for (std::int64_t row = units.first; row < units.last;) {
    const std::int64_t left = walk_.rows.len - row % walk_.rows.len;
    const std::int64_t count = std::min<std::int64_t>(left, units.last - row);
    const std::int64_t whole = count / launch.place.fold * launch.place.fold;
    if (piece_ < lanes)
      for (std::int64_t lane = 0; lane < lanes; lane += piece_)
        run_block(launch, {row, count, lane, std::min(piece_, lanes - lane)});
    else if (whole > 0)
      run_block(launch, {row, whole / launch.place.fold, 0, lanes * launch.place.fold});
    if (whole < count) run_block(launch, {row + whole, 1, 0, lanes * (count - whole)});
    row += count;
  }
}

void PointwiseProgram::run_block(const Launch& launch, const WalkBlock& block) const {
  Scratch scratch;
  const RowsCall call = call_of(walk_, launch.place, block, scratch);
  launch.rows(&call);
}

}  // namespace fuseplan::cpu
