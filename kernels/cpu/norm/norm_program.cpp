// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/norm_program.hpp"

#include <algorithm>

namespace fuseplan::cpu {

namespace {

constexpr std::int64_t kRowBytes = 512 << 10;  ///< of a call that writes: enough to hide its cost
constexpr std::int64_t kParallelBytes = 1 << 20;  ///< least work that is worth other threads

}  // namespace

/// Everything of one launch that its tasks share. Tasks write to disjoint parts of it.
struct NormProgram::Launch {
  const Arguments& arguments;
  const Parallel& parallel;
  float *first, *second;  ///< the computed operands, by cell
  WalkPlace sums, rows;
  ChainRunner::Pending channels;  ///< of the second pass
  Rows write;
};

NormProgram::NormProgram(CellWalk cells, const NormSchedule& schedule, const SplitChain& chain,
                         const NormStages& stages, const Code& code)
    : cells_(std::move(cells)),
      schedule_(schedule),
      stages_(stages),
      results_(stages, chain),
      runner_(chain, cells_.walk.channels, code.prologue),
      code_(code) {
  if (stages_.backward)
    sums_runner_.emplace(chain.sums.front(), cells_.walk.channels, code.sums_prologue);
}

void NormProgram::run(const Arguments& arguments) const {
  Scratch scratch;
  const auto cells = static_cast<std::size_t>(cells_.cells);
  float* first = scratch.take_array<float>(cells);
  float* second = scratch.take_array<float>(cells);
  const SecondPass pass(arguments, stages_, first, second);
  const Arguments& given = pass.arguments();
  const ChainRunner::Pending channels = runner_.begin(given, scratch);
  // Otherwise they wait for what is gathered.
  if (!stages_.per_channel)
    runner_.run_channels(channels, {0, static_cast<long>(cells_.walk.channels)}, scratch);
  const bool in_place = arguments.input == arguments.output;
  Launch launch{arguments,
                arguments.parallel,
                first,
                second,
                {arguments.input, nullptr, given.elements, 0,
                 sums_runner_ ? sums_runner_->prepare(given, scratch) : ChainFrame{}},
                {arguments.input, arguments.output, given.elements, 0, channels.frame},
                channels,
                code_.streaming != nullptr && !in_place ? code_.streaming : code_.rows};
  const int threads = arguments.parallel.threads();
  const bool small = schedule_.groups > 1 || cells_.walk.bytes() < kParallelBytes;
  if ((schedule_.chunks == 1 && small) || schedule_.groups >= 2 * threads) {
    arguments.parallel(schedule_.groups, [&](int i) { run_group(launch, group(i), false); });
  } else {
    for (int i = 0; i < schedule_.groups; ++i) run_group(launch, group(i), true);
  }
}

/// Lanes are cut at whole cache lines.
Range NormProgram::part_of(Range cells, int parts, int index) const {
  const auto line = static_cast<std::int64_t>(64 / size_of(cells_.walk.dtypes[Walk::kInput]));
  const std::int64_t grain = cells_.per_lane ? line : 1;
  const Range lines = split((cells.last - cells.first + grain - 1) / grain, parts, index);
  return {cells.first + lines.first * grain,
          std::min(cells.first + lines.last * grain, cells.last)};
}

/// More than the schedule has, where its chunks are few: what a cell is rounded to does not depend
/// on its strip.
int NormProgram::strips_for(int threads) const {
  constexpr std::int64_t kLeastCells = 128;
  if (!cells_.per_lane || threads == 1) return schedule_.strips;
  const auto most = static_cast<int>(cells_.cells / schedule_.groups / kLeastCells);
  const int wanted = (2 * threads + schedule_.chunks - 1) / schedule_.chunks;
  return std::max(schedule_.strips, std::min(wanted, most));
}

/// `parallel`: strips of chunks are tasks.
void NormProgram::run_group(const Launch& launch, Range cells, bool parallel) const {
  Scratch scratch;
  const auto chunks = static_cast<std::size_t>(schedule_.chunks);
  Gathered* parts = scratch.take_array<Gathered>(chunks);
  for (std::size_t k = 0; k < chunks; ++k)
    parts[k] = nothing_gathered(cells.last - cells.first, code_.sums.roots, scratch);
  const int strips = strips_for(parallel ? launch.parallel.threads() : 1);
  const int tasks = schedule_.chunks * strips;
  const auto each_task = [&](const auto& task) {
    if (parallel) return launch.parallel(tasks, task);
    for (int i = 0; i < tasks; ++i) task(i);
  };
  each_task([&](int i) {
    const auto k = static_cast<std::size_t>(i / strips);
    const Range strip = part_of(cells, strips, i % strips);
    Gathered part = parts[k].empty_slice(strip.first - cells.first, strip.last - strip.first);
    gather(launch, strip, chunk(i / strips), part);
    if (strip.first == cells.first) parts[k].count = part.count;
  });
  for (std::size_t k = 1; k < chunks; ++k) add(parts[0], parts[k]);
  finish(launch, cells, parts[0]);
  // What was read last is still in a cache.
  each_task([&](int i) {
    const int last = tasks - 1 - i;
    write(launch, part_of(cells, strips, last % strips), chunk(last / strips));
  });
}

void NormProgram::gather(const Launch& launch, Range cells, Range units, Gathered& to) const {
  const auto gather = stages_.backward ? gather_sums : gather_moments;
  gather(cells_, launch.sums, code_.sums, cells, units, to);
}

void NormProgram::add(Gathered& to, const Gathered& other) const {
  if (stages_.backward) return add_sums(to, other, code_.sums.roots);
  add_moments(to, other);
}

void NormProgram::finish(const Launch& launch, Range cells, const Gathered& all) const {
  if (stages_.backward) {
    results_.write_gradients(launch.arguments, cells, all.of(0), all.of(1), launch.first,
                             launch.second);
  } else {
    results_.write_moments(launch.arguments, cells, all.of(0), all.of(1), launch.first,
                           launch.second);
  }
  Scratch scratch;
  if (stages_.per_channel) runner_.run_channels(launch.channels, cells, scratch);
}

void NormProgram::write(const Launch& launch, Range cells, Range units) const {
  const std::int64_t unit = cells_.unit_bytes(cells.last - cells.first);
  const std::int64_t most = std::max<std::int64_t>(kRowBytes / std::max<std::int64_t>(unit, 1), 1);
  each_block_backwards(cells_, cells, units, most, [&](const WalkBlock& block, std::int64_t) {
    Scratch scratch;
    const RowsCall call = call_of(cells_.walk, launch.rows, block, scratch);
    launch.write(&call);
  });
}

}  // namespace fuseplan::cpu
