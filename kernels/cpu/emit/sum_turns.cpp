// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/sum_turns.hpp"

#include <cstddef>
#include <map>
#include <utility>

namespace fuseplan::cpu {
namespace {

TilePlace operator-(const TilePlace& a, const TilePlace& b) {
  return {a.channel - b.channel, a.row - b.row, a.column - b.column};
}

using Turn = std::vector<TileSum>;

/// In the order of their places.
std::vector<Turn> group(std::span<const TileSum> sums, bool lanes_are_channels) {
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::map<Key, Turn> by_place;
  std::vector<int> within(sums.size());  // its turn
  for (std::size_t i = 0; i < sums.size(); ++i) {
    TileSum sum = sums[i];
    const TilePlace& at = sum.place;
    Turn& turn = by_place[lanes_are_channels ? Key{at.row, at.column} : Key{at.channel, 0}];
    if (sum.before >= 0) sum.before = within[static_cast<std::size_t>(sum.before)];
    within[i] = static_cast<int>(turn.size());
    turn.push_back(sum);
  }
  std::vector<Turn> turns;
  for (auto& [key, turn] : by_place) turns.push_back(std::move(turn));
  return turns;
}

bool alike(const Turn& a, const Turn& b, const TilePlace& step) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (b[i].place - a[i].place != step || a[i].partial != b[i].partial ||
        a[i].before != b[i].before || a[i].optional != b[i].optional)
      return false;
  return true;
}

}  // namespace

std::optional<SumTurns> turns_of(std::span<const TileSum> sums, bool lanes_are_channels) {
  const std::vector<Turn> turns = group(sums, lanes_are_channels);
  if (turns.size() < 2) return std::nullopt;
  SumTurns all{.regs = {}, .first = turns[0], .step = turns[1][0].place - turns[0][0].place};
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (t > 0 && !alike(turns[t - 1], turns[t], all.step)) return std::nullopt;
    for (const TileSum& sum : turns[t]) all.regs.push_back(sum.reg);
  }
  return all;
}

}  // namespace fuseplan::cpu
