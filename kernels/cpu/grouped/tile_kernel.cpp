// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/tile_kernel.hpp"

#include <algorithm>
#include <cstddef>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kCall = rdi, kRow = r10, kPlanes = r11, kRepeat = rbx;
const Xbyak::Reg64 kPointers[] = {r12, r13, r14};

int field(std::size_t offset) { return static_cast<int>(offset); }

/// The first tile is the second but for columns beside the image, and only one of so many that it
/// may make products of those for nothing: with 3 or 4 tiles that was 0.02 of the time.
bool begins_alike(const std::vector<RowTile>& tiles) {
  constexpr std::int64_t kMany = 4;  // behind the first
  return tiles.size() > 1 && tiles[0].columns == tiles[1].columns &&
         tiles[0].high == tiles[1].high && tiles[0].repeat == 1 && tiles[1].repeat >= kMany;
}

}  // namespace

TileKernel::TileKernel(const GroupedPlan& plan)
    : plan_(plan),
      g_(plan_.g),
      code_(plan.isa),
      pointers_(code_, plan_.finish, kPointers),
      storage_(code_, {rdx, rax, rcx}, plan_.finish.bf16),
      finisher_(code_, plan_.finish, pointers_, storage_) {}

std::vector<std::byte> TileKernel::emit() {
  VectorCode& c = code_;
  c.enter();
  words_ = c.reserve_words(kWords);
  for (int i = 0; i < most_sums() + lasting_count(); ++i) c.vectors().take();
  c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, input))]);
  c.mov(word(kInput), rax);
  start();
  blocks_last() ? sweep_rows() : each_block([&] {
    pointers_.read(call_chain());
    sweep_rows();
    pointers_.move_call(call_chain(), {plan_.step, 0, 0});
  });
  c.leave();
  storage_.emit_tables();
  emit_tables();
  return c.finish();
}

/// Loads a pointer to the call's chain.
Xbyak::Reg64 TileKernel::call_chain() {
  code_.mov(rcx, ptr[kCall + field(offsetof(GroupedCall, chain))]);
  return rcx;
}

/// With x() and w() at the block. `body` is emitted once for whole vectors of channels and once for
/// the rest, as far as there are any.
template <typename Body>
void TileKernel::each_block(const Body& body) {
  for (const auto& [to, from] : {std::pair{kWeights, offsetof(GroupedCall, weights)},
                                 {kLeft, offsetof(GroupedCall, outputs)}}) {
    code_.mov(rax, ptr[kCall + field(from)]);
    code_.mov(word(to), rax);
  }
  const bool whole = !plan_.lanes_are_channels || plan_.step == plan_.lanes();
  if (whole) blocks(false, body);
  if (plan_.lanes_are_channels && (!whole || g_.output.len[1] % plan_.step != 0))
    blocks(true, body);
}

template <typename Body>
void TileKernel::blocks(bool partial, const Body& body) {
  VectorCode& c = code_;
  Xbyak::Label next, end;
  partial_ = partial;
  c.L(next);
  c.mov(rcx, word(kLeft));
  if (!partial) {
    c.cmp(rcx, plan_.step);
    c.jb(end);
    c.sub(word(kLeft), plan_.step);
  } else {
    c.test(rcx, rcx);
    c.jz(end);
    c.mov(count(), plan_.step);
    c.cmp(rcx, count());
    c.cmovb(count(), rcx);
    c.sub(rcx, count());
    c.mov(word(kLeft), rcx);
    // What whole vectors leave over is always the same.
    const bool behind_whole = plan_.step == plan_.lanes();
    storage_.begin_partial(count(),
                           behind_whole ? static_cast<int>(g_.output.len[1] % plan_.step) : 0);
  }
  c.mov(w(), word(kWeights));
  c.mov(x(), ptr[w()]);
  c.add(x(), word(kInput));
  start_block();
  body();
  c.add(word(kWeights), static_cast<int>(plan_.block_bytes()));
  c.jmp(next);
  c.L(end);
}

void TileKernel::sweep_rows() {
  VectorCode& c = code_;
  Xbyak::Label next;
  c.mov(kRow, ptr[kCall + field(offsetof(GroupedCall, input_row))]);
  c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, rows))]);
  c.mov(word(kRows), rax);
  c.L(next);
  sweep_row();
  c.sub(word(kRows), rows());
  c.jg(next);
}

void TileKernel::sweep_row() {
  VectorCode& c = code_;
  const std::int64_t column_bytes = g_.stride[2] * plan_.input_bytes(4);
  const int lanes = plan_.lanes_are_channels ? 1 : plan_.lanes();
  std::vector<RowTile> tiles = cut_row(g_, plan_.tile_columns(), lanes);
  const std::int64_t first_low = tiles.front().low;
  const bool has_border = masks_border() && begins_alike(tiles);
  if (has_border) {
    tiles[0].low = tiles[1].low;
    tiles[0].repeat += tiles[1].repeat;
    tiles.erase(tiles.begin() + 1);
  }
  for (const RowTile& tile : tiles) {
    const bool is_masked = has_border && &tile == &tiles.front();
    image_begins_ = is_masked ? first_low : tile.low;
    if (is_masked) start_border();
    Xbyak::Label again;
    if (tile.repeat > 1) c.mov(kRepeat, tile.repeat);
    c.L(again);
    blocks_last() ? all_blocks(tile) : one_tile(tile);
    move(tile.columns * column_bytes, {0, 0, tile.columns});
    if (is_masked) end_border();
    if (tile.repeat == 1) continue;
    c.dec(kRepeat);
    c.jnz(again);
  }
  const std::int64_t swept = g_.output.len[4], advance = rows() * g_.stride[1];
  move(advance * plan_.input_bytes(3) - swept * column_bytes, {0, rows(), -swept});
  c.add(kRow, static_cast<int>(advance));
}

void TileKernel::all_blocks(const RowTile& tile) {
  pointers_.read(call_chain());
  each_block([&] {
    one_tile(tile);
    pointers_.move({plan_.step, 0, 0});
  });
}

/// To another tile, by so many bytes of input.
void TileKernel::move(std::int64_t bytes, const TilePlace& by) {
  if (blocks_last()) {
    code_.add(word(kInput), static_cast<int>(bytes));
    pointers_.move_call(call_chain(), by);
  } else {
    code_.add(x(), static_cast<int>(bytes));
    pointers_.move(by);
  }
}

void TileKernel::one_tile(const RowTile& tile) {
  VectorCode& c = code_;
  start_tile(tile);
  for (int i = 0; i < sums_of(tile); ++i) c.vxorps(sum(i), sum(i), sum(i));
  Xbyak::Label next, end;
  c.mov(w(), word(kWeights));
  c.mov(input(), x());
  first_weight_ = GroupedPlan::kHeaderBytes;
  if (g_.filter[0] == 1 && g_.pad_lo[0] == 0 &&
      (g_.output.len[2] - 1) * g_.stride[0] < g_.input.len[2]) {
    planes(tile);
  } else {
    c.add(w(), ptr[kCall + field(offsetof(GroupedCall, depth_offset))]);
    c.mov(rax, ptr[kCall + field(offsetof(GroupedCall, depths))]);
    c.mov(word(kDepths), rax);
    c.test(rax, rax);
    c.jz(end);
    c.L(next);
    planes(tile);
    if (g_.group_inputs == 1) c.add(w(), static_cast<int>(plan_.depth_bytes()));
    const std::int64_t walked = g_.group_inputs == 1 ? 0 : g_.group_inputs * input_step();
    c.add(input(), static_cast<int>(g_.dilation[0] * plan_.input_bytes(2) - walked));
    c.dec(word(kDepths));
    c.jnz(next);
    c.L(end);
  }
  // The chain may take what a narrower tile leaves over.
  const RegisterPool full = c.vectors();
  for (int i = sums_of(tile); i < most_sums(); ++i) c.vectors().give(i);
  finisher_.finish(sums_in(tile), [&] { return skip_in_last_tile(); });
  c.vectors() = full;
}

VectorCode::Forward TileKernel::skip_in_last_tile() {
  code_.cmp(word(kRows), plan_.rest_rows());
  return code_.jump_forward(VectorCode::If::equal);
}

bool TileKernel::may_lack(int row) const {
  return plan_.rest_rows() > 0 && row >= plan_.rest_rows();
}

void TileKernel::planes(const RowTile& tile) {
  VectorCode& c = code_;
  if (g_.group_inputs == 1) return sum_plane(tile);
  Xbyak::Label next;
  c.mov(kPlanes, g_.group_inputs);
  c.align(32);
  c.L(next);
  sum_plane(tile);
  c.add(w(), static_cast<int>(plan_.plane_bytes()));
  if (input_step() != 0) c.add(input(), static_cast<int>(input_step()));
  c.dec(kPlanes);
  c.jnz(next);
}

TileKernel::Hits TileKernel::hits_of(std::int64_t row) const {
  Hits hits;
  for (std::int64_t tap = 0; tap < g_.filter[1]; ++tap) {
    const std::int64_t at = row - tap * g_.dilation[1];
    if (at >= 0 && at % g_.stride[1] == 0 && at / g_.stride[1] < rows())
      hits.push_back({static_cast<int>(at / g_.stride[1]), static_cast<int>(tap)});
  }
  return hits;
}

/// Rows above the image are negative, which as unsigned numbers lie below it.
std::optional<VectorCode::Forward> TileKernel::skip_missing_row(std::int64_t row) {
  const std::int64_t outputs = round_up(g_.output.len[3], rows());
  const std::int64_t last =
      (outputs - 1) * g_.stride[1] - g_.pad_lo[1] + (g_.filter[1] - 1) * g_.dilation[1];
  if (g_.pad_lo[1] == 0 && last < g_.input.len[3]) return std::nullopt;
  code_.lea(rax, ptr[kRow + static_cast<int>(row)]);
  code_.cmp(rax, static_cast<int>(g_.input.len[3]));
  return code_.jump_forward(VectorCode::If::above_or_equal);
}

}  // namespace fuseplan::cpu
