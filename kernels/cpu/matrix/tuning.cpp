// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/tuning.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {
namespace {

// What a window's input and output may take of a second-level cache of 2 MB.
constexpr std::int64_t kWindowBytes = 512 << 10;

std::int64_t block_of(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const std::int64_t per_pixel =
      conv.group_inputs * conv.stride[1] * conv.stride[2] * traits_of(product).element +
      conv.group_outputs * static_cast<std::int64_t>(size_of(shape.output));
  return std::max<std::int64_t>(1, kWindowBytes / per_pixel);
}

}  // namespace

std::vector<MatrixConfig> matrix_tuning_space(const DirectShape& shape, Product product) {
  const std::int64_t block = block_of(shape, product);
  std::vector<MatrixConfig> configs;
  const auto add = [&](const MatrixConfig& config) {
    if (std::ranges::find(configs, config) == configs.end()) configs.push_back(config);
  };
  if (reads_in_place(shape, product)) add({.block = block});
  const bool joined = joining_saves(shape, product);
  add({.block = block, .staged = true, .joined = joined});
  add({.block = block, .staged = true, .joined = joined, .by_row = true});
  add({.block = std::max<std::int64_t>(1, block / 4),
       .staged = configs.front().staged,
       .joined = joined});
  return configs;
}

}  // namespace fuseplan::cpu
