// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/gpu/conv_source.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

constexpr int kThreads = 256, kDepth = 8;
constexpr int kRowPadding = 4;  ///< FP_ROW_A, FP_ROW_B
// Narrow tiles read shared memory more often for each product.
constexpr ConvTile kTiles[] = {
    {128, 128, 8, 8, 1.0}, {64, 64, 4, 4, 0.75}, {128, 32, 4, 4, 0.65}, {256, 8, 4, 2, 0.35}};
// Blocks that run at once on a large device (132 multiprocessors of an H200, two on each).
constexpr double kBlocksAtOnce = 264;

/// Time of a launch in units of a block's products at full speed.
double cost(const ConvShape& shape, const ConvTile& tile) {
  const double rounds =
      std::ceil(static_cast<double>(shape.blocks(tile.m, tile.n)) / kBlocksAtOnce);
  return rounds * tile.m * tile.n / tile.efficiency;
}

std::size_t shared_floats(const ConvTile& tile) {
  const int buffers = 2 * kDepth * (tile.m + tile.n + 2 * kRowPadding);
  const int part_m = tile.m / tile.thread_m * std::min(tile.thread_m, 4);
  const int part_n = tile.n / tile.thread_n * std::min(tile.thread_n, 4);
  return static_cast<std::size_t>(std::max(buffers, part_m * (part_n + 1)));
}

class ConvProgram final : public Program {
 public:
  ConvProgram(ConvShape shape, const SplitChain& chain, const ConvTile& tile)
      : shape_(std::move(shape)), chain_(chain), tile_(tile) {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    return {0, static_cast<unsigned>(shape_.blocks(tile_.m, tile_.n)), kThreads,
            static_cast<unsigned>(shared_floats(tile_) * sizeof(float)),
            conv_arguments(shape_, chain_, arguments, scratch)};
  }

 private:
  ConvShape shape_;
  ChainArguments chain_;
  ConvTile tile_;
};

class ConvRecipe final : public Recipe {
 public:
  ConvRecipe(const Problem& problem, const SplitChain& chain, const ConvTile& tile)
      : problem_(problem), chain_(chain), tile_(tile), shape_(problem, chain) {}

  std::string source() const override {
    const std::string macros = define("WEIGHTS", static_cast<int>(problem_.conv()->weights.dtype)) +
                               define("THREADS", kThreads) + define("BK", kDepth) +
                               define("BM", tile_.m) + define("BN", tile_.n) +
                               define("TM", tile_.thread_m) + define("TN", tile_.thread_n);
    return assemble_source(chain_macros(problem_, chain_) + macros + conv_macros(shape_),
                           chain_declarations(chain_, conv_fields(shape_)), "conv.cu",
                           {"fp_conv.h"});
  }
  std::vector<std::string> entries() const override { return {"fp_conv"}; }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<ConvProgram>(shape_, chain_, tile_);
  }

 private:
  Problem problem_;
  SplitChain chain_;
  ConvTile tile_;
  ConvShape shape_;
};

}  // namespace

std::vector<ConvTile> conv_tiles(const Problem& problem) {
  const ConvShape shape(problem, {});
  std::vector<ConvTile> tiles(std::begin(kTiles), std::end(kTiles));
  std::ranges::stable_sort(tiles, {}, [&](const ConvTile& tile) { return cost(shape, tile); });
  return tiles;
}

std::string to_text(const ConvTile& tile) { return fmt::format("{}x{}", tile.m, tile.n); }

std::optional<ConvTile> parse_conv_tile(std::string_view text) {
  for (const ConvTile& tile : kTiles)
    if (to_text(tile) == text) return tile;
  return std::nullopt;
}

double conv_blocks(const Problem& problem, const ConvTile& tile) {
  return static_cast<double>(ConvShape(problem, {}).blocks(tile.m, tile.n));
}

std::shared_ptr<const Recipe> conv_recipe(const Problem& problem, const SplitChain& chain,
                                          const ConvTile& tile) {
  return std::make_shared<ConvRecipe>(problem, chain, tile);
}

}  // namespace fuseplan::gpu
