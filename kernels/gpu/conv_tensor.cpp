// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/gpu/conv_source.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::View;

constexpr int kChunkBytes = 16;
constexpr int kLanes = 8;  ///< channels that a thread of the wide entry finishes at once

// Parts of 64 x 64 read shared memory least for each product.
constexpr TensorTile kTiles[] = {
    {128, 128, 2, 2, 1, 4, 4, 1.0}, {256, 128, 4, 2, 1, 4, 3, 1.0}, {128, 128, 2, 4, 1, 4, 3, 0.9},
    {128, 64, 2, 2, 1, 4, 4, 0.8},  {64, 64, 2, 2, 1, 4, 4, 0.65},  {64, 64, 2, 2, 2, 8, 3, 0.65},
    {128, 32, 4, 1, 1, 4, 4, 0.6},  {64, 32, 2, 1, 4, 8, 3, 0.5},   {32, 64, 1, 2, 4, 8, 3, 0.5},
};

// Blocks of a tile; 8 are what every device with clusters takes as one.
constexpr int kSplits[] = {1, 2, 4, 8};

int threads_of(const TensorTile& tile) { return 32 * tile.warps_m * tile.warps_n * tile.warps_k; }

/// Rows that are finished together.
int part_rows(const TensorTile& tile) {
  return tile.split > 1 ? tile.m / tile.split : tile.m / tile.warps_m;
}

/// The ring; later the sums of warps that share a depth; later rows of the finished tile (all that
/// a cluster shares), and its channels' values.
unsigned shared_bytes(const TensorTile& tile, std::size_t channels = 0) {
  constexpr int kRowPadding = 8;  // FP_PART_ROW
  const int ring = tile.stages * (tile.m + tile.n) * tile.chunks * kChunkBytes;
  const int depths = (tile.warps_k - 1) * tile.m * tile.n * 4;
  const int rows = tile.split > 1 ? tile.m : part_rows(tile);
  const int part = (rows * (tile.n + kRowPadding) + tile.n * static_cast<int>(channels)) * 4;
  return static_cast<unsigned>(std::max({ring, depths, part}));
}

/// What a block may have when it asks for it (CUDA C++ programming guide, "Compute capabilities").
unsigned shared_limit(int capability) {
  constexpr struct {
    int capability;
    unsigned kib;
  } kLimits[] = {{75, 64}, {80, 163}, {86, 99},   {87, 163},
                 {89, 99}, {90, 227}, {100, 227}, {103, 227}};
  unsigned kib = 99;
  for (const auto& row : kLimits)
    if (row.capability == capability) kib = row.kib;
  return kib << 10;
}

int each_of(const Problem& problem) {
  return kChunkBytes / static_cast<int>(size_of(problem.input().dtype));
}

/// What the kernel's code may take 16 bytes at a time, as far as the source knows.
struct Wide {
  Wide(const Problem& problem, const ConvShape& shape) : each(each_of(problem)) {
    const cpu::ConvGeometry& g = shape.geometry;
    dense = shape.dense_filters();
    input = !shape.taps_inner() && g.group_inputs % each == 0 && g.input.stride[1] == 1;
    weights = dense && shape.depth() % each == 0 && g.weight_stride[0] % each == 0;
    output = g.output.stride[1] == 1 && g.output.stride[4] > 1 && g.group_outputs % kLanes == 0;
    for (std::size_t e = 0; output && e < shape.elements.size(); ++e)
      if (shape.elements[e].stride[1] == 1) element_lanes |= 1u << e;
  }
  bool any() const { return input || weights || output; }

  int each;  ///< values in 16 bytes
  bool dense, input, weights, output;
  unsigned element_lanes = 0;
};

/// Blocks that a multiprocessor's registers are shared out to: two of 256 threads, if 128 registers
/// hold what a thread has of the sums and nothing gathered.
int blocks_at_once(const TensorTile& tile, const Wide& wide) {
  constexpr int kMostSums = 64;
  const int threads = threads_of(tile);
  const int sums = tile.m * tile.n * tile.warps_k / threads;
  return wide.input && threads == 256 && sums <= kMostSums ? 2 : 1;
}

class TensorProgram final : public Program {
 public:
  TensorProgram(ConvShape shape, const SplitChain& chain, const TensorTile& tile, const Wide& wide)
      : shape_(std::move(shape)),
        chain_(chain),
        tile_(tile),
        wide_(wide),
        divides_(divides()),
        shared_bytes_(shared_bytes(tile, chain.channels.roots.size())) {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const bool wide = divides_ && aligned(arguments);
    return {.grid = static_cast<unsigned>(shape_.blocks(tile_.m, tile_.n) * tile_.split),
            .block = static_cast<unsigned>(threads_of(tile_)),
            .shared_bytes = shared_bytes_,
            .arguments = conv_arguments(shape_, chain_, arguments, scratch, wide),
            .cluster = most_cluster()};
  }
  unsigned most_cluster() const override { return static_cast<unsigned>(tile_.split); }
  unsigned most_shared_bytes() const override { return shared_bytes_; }

 private:
  static bool divides(const View& view, int by) {
    for (std::size_t axis = 0; axis < view.len.size(); ++axis)
      if (axis != 1 && view.len[axis] > 1 && view.stride[axis] % by != 0) return false;
    return true;
  }
  /// Whether what is wide in the source starts at multiples of 16 bytes, if the tensors do.
  bool divides() const {
    bool all = wide_.any();
    if (wide_.input) all &= divides(shape_.geometry.input, wide_.each);
    if (wide_.output) all &= divides(shape_.geometry.output, kLanes);
    for (std::size_t e = 0; e < shape_.elements.size(); ++e)
      if ((wide_.element_lanes >> e & 1u) != 0) all &= divides(shape_.elements[e], kLanes);
    return all;
  }
  bool aligned(const cpu::Arguments& arguments) const {
    const auto fits = [](const void* pointer) {
      return reinterpret_cast<std::uintptr_t>(pointer) % kChunkBytes == 0;
    };
    bool all = (!wide_.input || fits(arguments.input)) &&
               (!wide_.weights || fits(arguments.weights)) &&
               (!wide_.output || fits(arguments.output));
    for (std::size_t e = 0; e < arguments.elements.size(); ++e)
      all &= (wide_.element_lanes >> e & 1u) == 0 || fits(arguments.elements[e]);
    return all;
  }

  ConvShape shape_;
  ChainArguments chain_;
  TensorTile tile_;
  Wide wide_;
  bool divides_;
  unsigned shared_bytes_;
};

class TensorRecipe final : public Recipe {
 public:
  TensorRecipe(const Problem& problem, const SplitChain& chain, const TensorTile& tile)
      : problem_(problem),
        chain_(chain),
        tile_(tile),
        shape_(problem, chain),
        wide_(problem, shape_) {}

  std::string source() const override {
    std::vector<std::string_view> headers{"fp_conv.h", "fp_conv_finish.h", "fp_warp.h", "fp_pack.h",
                                          "fp_gather.h"};
    if (tile_.split > 1) headers.push_back("fp_cluster.h");
    return assemble_source(chain_macros(problem_, chain_) + conv_macros(shape_) + macros(),
                           chain_declarations(chain_, conv_fields(shape_)), "conv_tensor.cu",
                           headers);
  }
  std::vector<std::string> entries() const override { return {"fp_conv_tensor"}; }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<TensorProgram>(shape_, chain_, tile_, wide_);
  }

 private:
  std::string macros() const {
    return define("THREADS", threads_of(tile_)) + define("BLOCKS", blocks_at_once(tile_, wide_)) +
           define("BM", tile_.m) + define("BN", tile_.n) + define("WARPS_M", tile_.warps_m) +
           define("WARPS_N", tile_.warps_n) + define("WARPS_K", tile_.warps_k) +
           define("PART_M", part_rows(tile_)) + define("SPLIT", tile_.split) +
           define("CHUNKS", tile_.chunks) + define("STAGES", tile_.stages) +
           define("WIDE", wide_.any()) + define("DENSE_WEIGHTS", wide_.dense) +
           define("COPY_INPUT", wide_.input) + define("COPY_WEIGHTS", wide_.weights) +
           define("WIDE_OUTPUT", wide_.output) + define("ELEMENT_LANES", wide_.element_lanes);
  }

  Problem problem_;
  SplitChain chain_;
  TensorTile tile_;
  ConvShape shape_;
  Wide wide_;
};

// A large device, an H200: multiprocessors, and what one does in a cycle of f16.
constexpr double kProcessors = 132, kProducts = 1024, kInstructions = 128;
// Cycles of a step that nothing hides in a block that is alone; of finishing an output.
constexpr double kStepLatency = 350, kFinish = 0.15;
// Instructions of gathering a value.
constexpr double kGather = 12;
// Cycles of a cluster's start and barriers, and of reading a sum of another of its blocks.
constexpr double kClusterMeets = 3500, kRemote = 0.15;
// Chunks that a thread gathers for a step: they take four registers each, and much code.
constexpr int kMostGathered = 4;

int gathered(const Wide& wide, const TensorTile& tile) {
  const int rows = (wide.input ? 0 : tile.m) + (wide.weights ? 0 : tile.n);
  return rows * tile.chunks / threads_of(tile);
}

std::int64_t steps_of(const ConvShape& shape, const Wide& wide, const TensorTile& tile) {
  const std::int64_t depth = std::int64_t{tile.chunks} * wide.each;
  return (shape.depth() + depth - 1) / depth;
}

/// Whether more blocks for a tile have something to do that the device does not do yet.
bool splits(const ConvShape& shape, const Wide& wide, const TensorTile& tile, int capability) {
  if (tile.split == 1) return true;
  constexpr int kFirst = 90;
  const std::int64_t half = shape.blocks(tile.m, tile.n) * tile.split / 2;
  return capability >= kFirst && static_cast<double>(half) < kProcessors &&
         steps_of(shape, wide, tile) >= tile.split;
}

/// Time of a launch in cycles.
double cost(const Problem& problem, const ConvShape& shape, const Wide& wide,
            const TensorTile& tile, int capability) {
  const double depth = static_cast<double>(tile.chunks * wide.each);
  const double steps = std::ceil(static_cast<double>(steps_of(shape, wide, tile)) / tile.split);
  const double slowdown = problem.input().dtype == DType::f32 ? 2 : 1;
  const double products = tile.m * tile.n * depth * slowdown / kProducts / tile.efficiency;
  const double gathers =
      ((wide.input ? 0 : tile.m) + (wide.weights ? 0 : tile.n)) * depth * kGather / kInstructions;
  const double blocks = static_cast<double>(shape.blocks(tile.m, tile.n) * tile.split);
  const double each = std::ceil(blocks / kProcessors);
  const double together =
      std::clamp(std::floor(shared_limit(capability) / shared_bytes(tile)), 1.0, 2.0);
  const double work = each * steps * (products + gathers);
  const double latency = std::ceil(blocks / (kProcessors * together)) * steps * kStepLatency;
  const double finish = each * tile.m * tile.n * kFinish / tile.split;
  const double join = tile.split > 1 ? kClusterMeets + each * tile.m * tile.n * kRemote : 0;
  return std::max(work, latency) + join + finish;
}

}  // namespace

std::vector<TensorTile> tensor_tiles(const Problem& problem, int capability) {
  const ConvShape shape(problem, {});
  const Wide wide(problem, shape);
  std::vector<TensorTile> tiles;
  for (TensorTile tile : kTiles)
    for (int split : kSplits) {
      tile.split = split;
      if (shared_bytes(tile) <= shared_limit(capability) && gathered(wide, tile) <= kMostGathered &&
          splits(shape, wide, tile, capability))
        tiles.push_back(tile);
    }
  std::ranges::stable_sort(tiles, {}, [&](const TensorTile& tile) {
    return cost(problem, shape, wide, tile, capability);
  });
  return tiles;
}

std::string to_text(const TensorTile& tile) {
  const std::string split = tile.split > 1 ? fmt::format("k{}", tile.split) : "";
  return fmt::format("{}x{}w{}x{}x{}c{}s{}{}", tile.m, tile.n, tile.warps_m, tile.warps_n,
                     tile.warps_k, tile.chunks, tile.stages, split);
}

std::optional<TensorTile> parse_tensor_tile(std::string_view text) {
  for (TensorTile tile : kTiles)
    for (int split : kSplits) {
      tile.split = split;
      if (to_text(tile) == text) return tile;
    }
  return std::nullopt;
}

double tensor_blocks(const Problem& problem, const TensorTile& tile) {
  return static_cast<double>(ConvShape(problem, {}).blocks(tile.m, tile.n) * tile.split);
}

std::shared_ptr<const Recipe> tensor_recipe(const Problem& problem, const SplitChain& chain,
                                            const TensorTile& tile) {
  return std::make_shared<TensorRecipe>(problem, chain, tile);
}

}  // namespace fuseplan::gpu
