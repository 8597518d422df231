// SPDX-License-Identifier: MIT
// Long chains, of which a tile's sums take turns.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "emit_kernel.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

constexpr int kLanes = 16, kVectors = 2, kTerms = 20;

/// input + channel 0 + ... + channel 19, in integers that f32 has exactly.
cpu::FinishSpec long_chain(std::int64_t pixels, bool lanes_are_channels) {
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t lanes = lanes_are_channels ? kVectors * kLanes : pixels;
  cpu::FinishSpec finish{.body = {},
                         .lanes_are_channels = lanes_are_channels,
                         .output = {DType::f32, true, lanes_are_channels ? kFloat : lanes * kFloat,
                                    0, lanes_are_channels ? lanes * kFloat : kFloat},
                         .elements = {},
                         .channel_root = 64 * kFloat};
  Graph& graph = finish.body.graph;
  Ref value = graph.leaf(Leaf::input);
  for (int i = 0; i < kTerms; ++i)
    value = graph.call(Fn::add_, value, graph.leaf(Leaf::channel, i));
  finish.body.roots = {value};
  return finish;
}

/// Tiles of so many turns each, the sums of a turn next to one another in memory, one after the
/// other in one kernel: void(const RowsCall*, const float* sums).
CodeMemory kernel(const cpu::FinishSpec& finish, const std::vector<int>& tiles) {
  using namespace Xbyak::util;
  cpu::VectorCode code(cpu::Isa::avx512);
  const Xbyak::Reg64 registers[] = {r8, r9};
  cpu::ChainPointers pointers(code, finish, registers);
  cpu::Storage storage(code, {rdx, rax, rcx}, false);
  cpu::TileFinisher finisher(code, finish, pointers, storage);
  code.enter();
  pointers.read(rdi);
  int sum = 0, turn = 0;
  for (const int turns : tiles) {
    std::vector<cpu::TileSum> sums;
    for (int t = 0; t < turns; ++t, ++turn)
      for (int v = 0; v < kVectors; ++v, ++sum) {
        const int reg = code.vectors().take();
        code.vmovups(code.vec(reg), code.ptr[code.rsi + sum * code.bytes()]);
        const std::int64_t lane = v * kLanes;
        sums.push_back({.reg = reg,
                        .place = finish.lanes_are_channels ? cpu::TilePlace{lane, 0, turn}
                                                           : cpu::TilePlace{turn, 0, lane}});
      }
    finisher.finish(sums);
    for (const cpu::TileSum& done : sums) code.vectors().give(done.reg);
  }
  code.leave();
  return CodeMemory(code.finish());
}

// Where the sums of a tile wait is kept for the next one, which may have more.
TEST(EmitTurns, OfTilesOfAnySizesInOneKernel) {
  if (cpu::host_isa() < cpu::Isa::avx512) {
    std::printf("NOT TESTED: turns of sums, which are AVX-512 code\n");
    return;
  }
  Random random;
  for (const bool lanes_are_channels : {true, false})
    for (const std::vector<int>& tiles :
         {std::vector{4}, {4, 12}, {12, 4}, {4, 3, 8, 1, 12}, {12, 2, 12}}) {
      int turns = 0;
      for (const int of_tile : tiles) turns += of_tile;
      const std::int64_t pixels = lanes_are_channels ? turns : kVectors * kLanes;
      const cpu::FinishSpec finish = long_chain(pixels, lanes_are_channels);
      std::vector<float> sums(static_cast<std::size_t>(turns * kVectors * kLanes));
      for (float& sum : sums) sum = static_cast<float>(random.between(-1000, 1000));
      std::vector<float> values(kTerms * 64);
      for (float& value : values) value = static_cast<float>(random.between(-1000, 1000));
      std::vector<float> output(sums.size());
      const cpu::RowsCall call{.output = output.data(), .channels = values.data()};
      const CodeMemory code = kernel(finish, tiles);
      reinterpret_cast<void (*)(const cpu::RowsCall*, const float*)>(
          reinterpret_cast<std::uintptr_t>(code.data()))(&call, sums.data());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t row = i / (kVectors * kLanes);
        float expected = sums[i];
        for (std::size_t t = 0; t < kTerms; ++t)
          expected += values[t * 64 + (lanes_are_channels ? i % (kVectors * kLanes) : row)];
        ASSERT_EQ(output[i], expected)
            << "element " << i << " of " << tiles.size() << " tiles, lanes are "
            << (lanes_are_channels ? "channels" : "pixels") << ", seed " << test_seed();
      }
    }
}

}  // namespace
}  // namespace fuseplan::test
