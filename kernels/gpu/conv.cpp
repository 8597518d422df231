// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/chain_source.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;
using cpu::View;

constexpr int kThreads = 256, kDepth = 8;
constexpr int kRowPadding = 4;  ///< FP_ROW_A, FP_ROW_B
// Narrow tiles read shared memory more often for each product.
constexpr ConvTile kTiles[] = {
    {128, 128, 8, 8, 1.0}, {64, 64, 4, 4, 0.75}, {128, 32, 4, 4, 0.65}, {256, 8, 4, 2, 0.35}};
// Blocks that run at once on a large device (132 multiprocessors of an H200, two on each).
constexpr double kBlocksAtOnce = 264;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t blocks_of(const ConvGeometry& g, const ConvTile& tile) {
  return ceil_div(g.output.len[0] * g.output.pixels(), tile.m) * ceil_div(g.group_outputs, tile.n) *
         g.groups;
}

/// Time of a launch in units of a block's products at full speed.
double cost(const ConvGeometry& g, const ConvTile& tile) {
  const double rounds = std::ceil(static_cast<double>(blocks_of(g, tile)) / kBlocksAtOnce);
  return rounds * tile.m * tile.n / tile.efficiency;
}

std::size_t shared_floats(const ConvTile& tile) {
  const int buffers = 2 * kDepth * (tile.m + tile.n + 2 * kRowPadding);
  const int part_m = tile.m / tile.thread_m * std::min(tile.thread_m, 4);
  const int part_n = tile.n / tile.thread_n * std::min(tile.thread_n, 4);
  return static_cast<std::size_t>(std::max(buffers, part_m * (part_n + 1)));
}

// The order N, C, H, W of a view whose depth is 1.
constexpr std::size_t kAxes[] = {0, 1, 3, 4};

class ConvProgram final : public Program {
 public:
  ConvProgram(const ConvGeometry& g, std::vector<View> elements, const SplitChain& chain,
              const ConvTile& tile)
      : g_(g), elements_(std::move(elements)), chain_(chain), tile_(tile) {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    put_strides(g_.input, block);
    put_strides(g_.output, block);
    for (const View& element : elements_) put_strides(element, block);
    if (elements_.empty()) put_strides({}, block);
    block.put(Divisor(g_.output.len[4]));
    block.put(Divisor(g_.output.len[3]));
    for (std::int64_t length :
         {g_.output.len[0] * g_.output.pixels(), g_.input.len[3], g_.input.len[4]})
      block.put(static_cast<std::uint32_t>(length));
    chain_.put_uniforms(arguments, block, scratch);
    return {0, static_cast<unsigned>(blocks_of(g_, tile_)), kThreads,
            static_cast<unsigned>(shared_floats(tile_) * sizeof(float)), block.finish()};
  }

 private:
  static void put_strides(const View& view, ArgumentBlock& block) {
    for (std::size_t axis : kAxes) block.put(view.stride[axis]);
  }

  ConvGeometry g_;
  std::vector<View> elements_;
  ChainArguments chain_;
  ConvTile tile_;
};

class ConvRecipe final : public Recipe {
 public:
  ConvRecipe(const Problem& problem, const SplitChain& chain, const ConvTile& tile)
      : problem_(problem), chain_(chain), tile_(tile), g_(cpu::geometry_of(problem)) {
    for (const Operand& element : chain.elements)
      elements_.push_back(cpu::broadcast_view(element.tensor, problem.output()));
  }

  std::string source() const override {
    const std::string fields = fmt::format(
        "long long input_stride[4], output_stride[4], element_stride[{}][4];\n"
        "fp_divisor width, height;\nunsigned pixels, input_h, input_w;\n",
        std::max<std::size_t>(elements_.size(), 1));
    return assemble_source(chain_macros(problem_, chain_) + macros(),
                           chain_declarations(chain_, fields), "conv.cu");
  }
  std::vector<std::string> entries() const override { return {"fp_conv"}; }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<ConvProgram>(g_, elements_, chain_, tile_);
  }

 private:
  std::string macros() const {
    std::string text;
    const auto define = [&](const char* name, std::int64_t value) {
      text += fmt::format("#define FP_{} {}\n", name, value);
    };
    const auto& weights = g_.weight_stride;
    define("WEIGHTS", static_cast<int>(problem_.conv()->weights.dtype));
    define("THREADS", kThreads), define("BK", kDepth);
    define("BM", tile_.m), define("BN", tile_.n);
    define("TM", tile_.thread_m), define("TN", tile_.thread_n);
    define("GROUPS", g_.groups), define("C", g_.group_inputs), define("K", g_.group_outputs);
    define("R", g_.filter[1]), define("S", g_.filter[2]);
    define("STRIDE_H", g_.stride[1]), define("STRIDE_W", g_.stride[2]);
    define("PAD_H", g_.pad_lo[1]), define("PAD_W", g_.pad_lo[2]);
    define("DILATION_H", g_.dilation[1]), define("DILATION_W", g_.dilation[2]);
    define("WEIGHT_K", weights[0]), define("WEIGHT_C", weights[1]);
    define("WEIGHT_R", weights[3]), define("WEIGHT_S", weights[4]);
    define("TAPS_INNER", weights[1] >= weights[4] ? 1 : 0);
    define("PIXELS_INNER", g_.input.stride[4] <= g_.input.stride[1] ? 1 : 0);
    define("OUT_PIXELS", g_.output.stride[4] <= g_.output.stride[1] ? 1 : 0);
    return text;
  }

  Problem problem_;
  SplitChain chain_;
  ConvTile tile_;
  ConvGeometry g_;
  std::vector<View> elements_;
};

}  // namespace

std::vector<ConvTile> conv_tiles(const Problem& problem) {
  const ConvGeometry g = cpu::geometry_of(problem);
  std::vector<ConvTile> tiles(std::begin(kTiles), std::end(kTiles));
  std::ranges::stable_sort(tiles, {}, [&](const ConvTile& tile) { return cost(g, tile); });
  return tiles;
}

std::string to_text(const ConvTile& tile) { return fmt::format("{}x{}", tile.m, tile.n); }

std::optional<ConvTile> parse_conv_tile(std::string_view text) {
  for (const ConvTile& tile : kTiles)
    if (to_text(tile) == text) return tile;
  return std::nullopt;
}

double conv_blocks(const Problem& problem, const ConvTile& tile) {
  return static_cast<double>(blocks_of(cpu::geometry_of(problem), tile));
}

std::shared_ptr<const Recipe> conv_recipe(const Problem& problem, const SplitChain& chain,
                                          const ConvTile& tile) {
  return std::make_shared<ConvRecipe>(problem, chain, tile);
}

}  // namespace fuseplan::gpu
