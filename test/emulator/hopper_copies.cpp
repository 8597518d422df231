// SPDX-License-Identifier: MIT
// The copy engine. PTX ISA 8.0, "Tensors": tiled mode, im2col mode, swizzling modes; "Data movement
// and conversion instructions: cp.async.bulk.tensor"; "Async proxy".
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "fake_tensor_map.hpp"
#include "hopper_model.hpp"

namespace fuseplan::emulator {
namespace {

constexpr std::size_t kRow = 128, kPiece = 16;  // what swizzling permutes
constexpr int kOnce = 4;                        // of how many turns a store may wait

/// A row of f32 to the nearest tf32, ties to even; what is not finite stays.
void round_to_tf32(unsigned char (&row)[kRow]) {
  for (std::size_t at = 0; at < kRow; at += 4) {
    std::uint32_t bits;
    std::memcpy(&bits, row + at, 4);
    const std::uint32_t below = bits & 0x1fff, odd = bits >> 13 & 1;
    if ((bits >> 23 & 255) == 255) continue;
    bits -= below;
    if (below > 0x1000 || (below == 0x1000 && odd != 0)) bits += 0x2000;
    std::memcpy(row + at, &bits, 4);
  }
}

}  // namespace

const FakeTensorMap* HopperModel::map_at(const void* map) {
  const auto* found = static_cast<const FakeTensorMap*>(map);
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0 || found->magic != FakeTensorMap::kMagic)
    fault("a copy without a tensor map");
  return found;
}

bool HopperModel::known(std::uint64_t address, std::size_t bytes) {
  for (unsigned long i = 0; i < machine().range_count; ++i) {
    const auto& range = machine().ranges[i];
    if (range.first <= address && address + bytes <= range.last) return true;
  }
  return false;
}

void HopperModel::copy_in(const fp_hopper::load& load) {
  const FakeTensorMap& map = *map_at(load.map);
  const unsigned rows = map.im2col != 0 ? map.box[1] : map.box[1] * map.box[2] * map.box[3];
  check_shared(load.to, rows * kRow, kRow, "a copy");
  if (map.im2col != static_cast<std::uint8_t>(load.im2col) || map.rank != 4u)
    stop("a tensor map of another kind");
  if (map.box[0] * map.element_bytes != kRow)
    stop("a swizzled copy of rows that are not 128 bytes");
  // An H200 calls the instruction illegal, from which the whole context does not recover.
  if (load.at[0] * static_cast<int>(map.element_bytes) % static_cast<int>(kPiece) != 0)
    stop("a copy from between multiples of 16 bytes");
  const Bar& bar = bar_at(load.bar);
  if (!bar.published) stop("a copy reports to an mbarrier that it cannot know yet");
  if (landing_ == Landing::early) return land(load);
  std::memset(load.to, 0xff, rows * kRow);  // not defined until it has landed
  loads_.push_back(load);
}

/// One row of a box: `channels` elements from (c, w, h, n) on, zeros where there are none.
void HopperModel::land_row(const FakeTensorMap& map, const int (&at)[4], unsigned channels,
                           std::size_t to) {
  bool inside = at[0] >= 0;
  std::uint64_t from = map.base + static_cast<std::uint64_t>(at[0]) * map.element_bytes;
  for (unsigned axis = 1; axis < 4; ++axis) {
    inside &= at[axis] >= 0 && static_cast<unsigned>(at[axis]) < map.length[axis];
    from += static_cast<std::uint64_t>(at[axis]) * map.stride[axis - 1];
  }
  std::size_t bytes = 0;
  if (inside && static_cast<unsigned>(at[0]) < map.length[0])
    bytes = std::min(channels, map.length[0] - static_cast<unsigned>(at[0])) * map.element_bytes;
  if (bytes > 0 && !known(from, bytes)) return fault("a copy from outside all memory");
  unsigned char row[kRow] = {};
  if (bytes > 0) std::memcpy(row, reinterpret_cast<const void*>(from), bytes);
  if (map.tf32 != 0) round_to_tf32(row);
  for (std::size_t piece = 0; piece < kRow; piece += kPiece)
    std::memcpy(engine_.shared + swizzled(to + piece), row + piece, kPiece);
}

void HopperModel::land_tile(const FakeTensorMap& map, const fp_hopper::load& load) {
  std::size_t to = offset_of(load.to);
  for (int u = 0; u < map.box[3]; ++u)
    for (int z = 0; z < map.box[2]; ++z)
      for (int y = 0; y < map.box[1]; ++y, to += kRow)
        land_row(map, {load.at[0], load.at[1] + y, load.at[2] + z, load.at[3] + u}, map.box[0], to);
}

/// Pixels run along the width within the box of the first tap, then to the next row of it, then to
/// the next image.
void HopperModel::land_im2col(const FakeTensorMap& map, const fp_hopper::load& load) {
  const int last_w = static_cast<int>(map.length[1]) - 1 + map.upper[0];
  const int last_h = static_cast<int>(map.length[2]) - 1 + map.upper[1];
  int w = load.at[1], h = load.at[2], n = load.at[3];
  if (w < map.lower[0] || w > last_w || h < map.lower[1] || h > last_h)
    return fault("a copy that starts outside its map's box");
  std::size_t to = offset_of(load.to);
  for (int pixel = 0; pixel < map.box[1]; ++pixel, to += kRow) {
    land_row(map, {load.at[0], w + load.taps[0], h + load.taps[1], n}, map.box[0], to);
    w += map.steps[1];
    if (w <= last_w) continue;
    w = map.lower[0];
    h += map.steps[2];
    if (h <= last_h) continue;
    h = map.lower[1];
    ++n;
  }
}

void HopperModel::land(const fp_hopper::load& load) {
  const FakeTensorMap& map = *map_at(load.map);
  const unsigned rows = map.im2col != 0 ? map.box[1] : map.box[1] * map.box[2] * map.box[3];
  if (load.im2col) {
    land_im2col(map, load);
  } else {
    land_tile(map, load);
  }
  Bar& bar = bars_.at(load.bar);
  bar.bytes -= static_cast<long>(rows * kRow);
  ++events_;
  end_phase(bar);
}

void HopperModel::copy_out(const void* at, const void* from, int x, int y) {
  const FakeTensorMap& map = *map_at(at);
  if (map.im2col != 0 || map.rank != 2u) stop("a tensor map of another kind");
  if (map.box[0] * map.element_bytes != kRow)
    stop("a swizzled copy of rows that are not 128 bytes");
  check_shared(from, map.box[1] * kRow, kRow, "a copy");
  if (x * static_cast<int>(map.element_bytes) % static_cast<int>(kPiece) != 0)
    stop("a copy to between multiples of 16 bytes");
  Store store{at, from, x, y};
  if (landing_ == Landing::early || (landing_ == Landing::any && engine_.random() % kOnce == 0))
    write(store);
  open_stores_[machine().thread].push_back(store);
}

void HopperModel::write(Store& store) {
  const FakeTensorMap& map = *map_at(store.map);
  const std::size_t from = offset_of(store.from);
  for (std::size_t piece = 0; piece < map.box[1] * kRow; piece += kPiece)
    if (unfenced_[(from + piece) / kPiece] != 0)
      return fault("the copy engine reads shared memory that no fence has shown to it");
  for (unsigned row = 0; row < map.box[1]; ++row) {
    const unsigned y = static_cast<unsigned>(store.y) + row;
    if (y >= map.length[1]) break;
    for (unsigned x = 0; x < map.box[0]; ++x) {
      const unsigned column = static_cast<unsigned>(store.x) + x;
      if (column >= map.length[0]) break;
      const std::uint64_t to = map.base + column * map.element_bytes + y * map.stride[0];
      if (!known(to, map.element_bytes)) return fault("a copy to outside all memory");
      std::memcpy(reinterpret_cast<void*>(to),
                  engine_.shared + swizzled(from + row * kRow + x * map.element_bytes),
                  map.element_bytes);
    }
  }
  store.done = true;
  ++events_;
}

void HopperModel::wait_for_copies(unsigned left) {
  auto& groups = stores_[machine().thread];
  while (groups.size() > left) {
    for (Store& store : groups.front())
      if (!store.done) write(store);
    groups.erase(groups.begin());
  }
}

}  // namespace fuseplan::emulator
