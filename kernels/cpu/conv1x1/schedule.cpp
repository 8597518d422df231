// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/schedule.hpp"

#include "base/integer.hpp"
#include "base/parallel.hpp"

namespace fuseplan::cpu {
namespace {

int parts_of(const Conv1x1Plan& plan, int threads) {
  return parts_worth(plan.shape.conv, 2e6, threads);
}

}  // namespace

bool deals_pieces(const Conv1x1Plan& plan, int threads) {
  const int parts = parts_of(plan, threads);
  return parts == 1 || plan.channels.pieces() >= kUnitsPerPart * parts;
}

Conv1x1Schedule::Conv1x1Schedule(const Conv1x1Plan& plan, int threads, bool in_passing)
    : plan_(plan), parts_(parts_of(plan, threads)) {
  const std::int64_t pieces = plan.pixels.pieces();
  whole_units_ = plan.staged || plan.drains || in_passing;
  if (in_passing || plan.drains) return;
  std::int64_t block = plan.block;
  const auto cut = [&] { blocks_ = ceil_div(pieces, block); };
  // No smaller than that, since small blocks read the weights more often.
  for (cut(); whole_units_ && parts_ > 1 && block > 1 && units() < kUnitsPerPart * parts_; cut())
    block = ceil_div(block, 2);
}

Conv1x1Unit Conv1x1Schedule::unit(std::int64_t index) const {
  Digits digits(index);
  Conv1x1Unit unit;
  unit.channels = digits.take(plan_.channels.pieces());
  const Range pieces = split(plan_.pixels.pieces(), static_cast<int>(blocks_),
                             static_cast<int>(digits.take(blocks_)));
  unit.first = pieces.first;
  unit.last = pieces.last;
  unit.window = digits.rest();
  return unit;
}

// The piece of pixels in which the part's share of all work begins, in pixels x channels as they
// are multiplied: in whole vectors. Units that are not divided begin with the nearer of two.
Place Conv1x1Schedule::start(int part) const {
  if (part == parts_) return {units(), 0};
  const std::int64_t width = plan_.channels.first(plan_.channels.pieces());
  const std::int64_t length = plan_.pixels.first(plan_.pixels.pieces());
  std::int64_t work = plan_.windows() * length * width * part / parts_;
  const std::int64_t window = work / (length * width);
  work %= length * width;
  const std::int64_t piece = plan_.pixels.piece_at(work / width);
  const std::int64_t block = ((piece + 1) * blocks_ - 1) / plan_.pixels.pieces();
  Conv1x1Unit unit = this->unit((window * blocks_ + block) * plan_.channels.pieces());
  const std::int64_t first = plan_.pixels.first(unit.first);
  const std::int64_t pixels = plan_.pixels.first(unit.last) - first;
  work -= first * width;
  unit.channels = plan_.channels.piece_at(work / pixels);
  work -= plan_.channels.first(unit.channels) * pixels;
  const std::int64_t channels =
      plan_.channels.first(unit.channels + 1) - plan_.channels.first(unit.channels);
  const std::int64_t index = (window * blocks_ + block) * plan_.channels.pieces() + unit.channels;
  if (whole_units_) return {2 * work < pixels * channels ? index : index + 1, 0};
  return {index, plan_.pixels.piece_at(first + work / channels) - unit.first};
}

}  // namespace fuseplan::cpu
