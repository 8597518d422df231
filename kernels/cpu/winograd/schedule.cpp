// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {

WinogradSchedule::WinogradSchedule(const WinogradPlan& plan, int threads, bool weights_are_raw) {
  const auto blocks_of = [&](std::int64_t size) { return ceil_div(plan.pieces, size); };
  block_pieces = weights_are_raw ? plan.most_pieces : plan.block_pieces;
  // Every block reads all weights. Where these come from memory or are made in passing, blocks are
  // left as they are and threads divide the channels; the input is then transformed by each of
  // them.
  const bool many_weights = weights_are_raw || weights_come_from_far(plan);
  // Pieces that the busiest thread gets: of sizes with the fewest, the largest reads weights least.
  const auto busiest = [&](std::int64_t size) { return ceil_div(blocks_of(size), threads) * size; };
  for (std::int64_t size = block_pieces; size > 0 && threads > 1 && !many_weights; --size)
    if (busiest(size) < busiest(block_pieces)) block_pieces = size;
  blocks = blocks_of(block_pieces);
  if (threads > 1 && (blocks < threads || (many_weights && blocks % threads != 0)))
    shares = std::min<std::int64_t>(plan.channel_tiles, threads);
  parts = static_cast<int>(std::min<std::int64_t>(threads, blocks * shares));
}

}  // namespace fuseplan::cpu
