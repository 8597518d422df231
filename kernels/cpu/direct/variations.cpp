// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/variations.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::size_t kVaried = 3;  // the tiles at the front: others rarely win by a block's size
constexpr std::int64_t kLeastChunk = 16;

// Two blocks that hold the same rows, or the same part of one, are one choice.
std::int64_t rows_of(std::int64_t block, const DirectShape& shape) {
  const View& output = shape.conv.output;
  if (block < output.len[4]) return -block;
  return std::min(block / output.len[4], output.len[3]);
}

std::vector<DirectConfig> variations_of(const DirectConfig& config, const DirectShape& shape) {
  const std::int64_t channels = shape.conv.group_inputs;
  std::vector<DirectConfig> found;
  const auto add = [&](std::int64_t block, std::int64_t chunk, bool staged) {
    if (block < 1 || chunk < 1 || chunk > channels) return;
    if (!staged && !shape.reads_in_place()) return;
    DirectConfig varied = config;
    varied.block = block;
    varied.chunk = chunk;
    varied.staged = staged;
    found.push_back(varied);
  };
  const bool staged = config.staged;
  add(config.block * 4, config.chunk, staged);
  add(config.block / 4, config.chunk, staged);
  add(config.block, channels, staged);
  if (config.chunk >= 2 * kLeastChunk) add(config.block, (config.chunk + 1) / 2, staged);
  if (shape.input == DType::f32) {
    add(config.block, config.chunk, !staged);
    add(config.block / 4, config.chunk, !staged);
    add(config.block / 16, channels, !staged);
  }
  return found;
}

}  // namespace

std::vector<DirectConfig> with_variations(std::vector<DirectConfig> configs,
                                          const DirectShape& shape) {
  const std::size_t given = configs.size();
  const auto alike = [&](const DirectConfig& a, DirectConfig b) {
    if (rows_of(a.block, shape) == rows_of(b.block, shape)) b.block = a.block;
    return a == b;
  };
  for (std::size_t i = 0; i < std::min(given, kVaried); ++i)
    for (const DirectConfig& varied : variations_of(configs[i], shape))
      if (std::none_of(configs.begin(), configs.end(),
                       [&](const DirectConfig& other) { return alike(other, varied); }))
        configs.push_back(varied);
  return configs;
}

}  // namespace fuseplan::cpu
