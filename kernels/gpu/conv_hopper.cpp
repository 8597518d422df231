// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_hopper.hpp"

#include <algorithm>

#include "kernels/gpu/conv_source.hpp"
#include "kernels/gpu/hopper_shape.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;

constexpr unsigned kWarpgroup = 128, kPlainThreads = 256;
constexpr std::uint32_t kValueBytes = 2, kPairBytes = 4;  ///< of what is gathered

/// What tells the kernels apart.
struct Kernel {
  const char *file, *entry;
  std::vector<std::string_view> headers;  ///< beside those of both
};
const Kernel& kernel_of(HopperFeed feed) {
  static const Kernel kKernels[] = {{"conv_hopper.cu", "fp_conv_hopper", {}},
                                    {"conv_hopper_gather.cu",
                                     "fp_conv_gather",
                                     {"fp_warp.h", "fp_hopper_pixels.h", "fp_hopper_pairs.h"}}};
  return kKernels[static_cast<int>(feed)];
}

bool is_multiple(const void* pointer, std::uintptr_t of) {
  return reinterpret_cast<std::uintptr_t>(pointer) % of == 0;
}

class HopperProgram final : public Program {
 public:
  HopperProgram(const Problem& problem, const SplitChain& chain, HopperFeed feed,
                const HopperTile& tile)
      : shape_(hopper_conv(problem, chain)),
        chain_(chain),
        tile_(tile),
        use_(hopper_shape(problem, chain, feed, tile)),
        stored_bytes_(static_cast<std::uintptr_t>(use_.together) *
                      size_of(problem.output().dtype)) {
    const ConvGeometry& g = shape_.geometry;
    const DType weights = problem.conv()->weights.dtype;
    if (feed == HopperFeed::copies)
      maps_[kInput] = hopper_input_map(g, problem.input().dtype, tile.m);
    if (!hopper_keeps_filters(shape_, feed))
      maps_[kFilter] = hopper_weight_map(g, weights, feed, tile.n);
    if (use_.store == HopperStore::copies)
      maps_[kOutput] = hopper_output_map(g, problem.output().dtype);
  }

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const ConvGeometry& g = shape_.geometry;
    const void* const bases[] = {arguments.input, arguments.weights, arguments.output};
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    std::byte* maps = block.leave(kMaps * TensorMap::kBytes, TensorMap::kAlignment);
    put_geometry(shape_, block);
    block.put(static_cast<std::uint32_t>(tiles()));
    block.put(kValueBytes);
    chain_.put_uniforms(arguments, block, scratch);
    Call call;
    call.arguments = block.finish(TensorMap::kAlignment);
    bool aligned = is_multiple(arguments.output, stored_bytes_) &&
                   (!use_.pairs || is_multiple(arguments.input, kPairBytes)) &&
                   (!use_.wide_filters || is_multiple(arguments.weights, 16));
    for (std::size_t i = 0; i < kMaps; ++i) aligned &= !maps_[i] || is_multiple(bases[i], 16);
    if (aligned) {
      fill_in(call, bases, maps, scratch);
    } else {
      call.entry = 1;
      call.grid = static_cast<unsigned>((pixels() * g.group_outputs - 1) / kPlainThreads + 1);
      call.block = kPlainThreads;
    }
    return call;
  }
  unsigned most_shared_bytes() const override { return use_.shared_bytes; }

 private:
  enum { kInput, kFilter, kOutput, kMaps };

  std::int64_t pixels() const {
    return shape_.geometry.output.len[0] * shape_.geometry.output.pixels();
  }
  std::int64_t tiles() const { return shape_.blocks(tile_.m, tile_.n); }

  void fill_in(Call& call, const void* const* bases, std::byte* to, Scratch& scratch) const {
    auto* maps = scratch.take_array<TensorMap>(kMaps);
    std::size_t count = 0;
    for (std::size_t i = 0; i < kMaps; ++i) {
      if (!maps_[i]) continue;
      TensorMap* map = new (maps + count++) TensorMap(*maps_[i]);
      map->to = to + i * TensorMap::kBytes;
      map->base = bases[i];
    }
    call.maps = {maps, count};
    call.grid = static_cast<unsigned>(tiles());
    call.block = static_cast<unsigned>(use_.producers + 2) * kWarpgroup;
    call.shared_bytes = use_.shared_bytes;
    call.blocks_stay = true;
  }

  HopperConv shape_;
  ChainArguments chain_;
  HopperTile tile_;
  HopperShape use_;
  std::uintptr_t stored_bytes_;           ///< of a thread at once
  std::optional<TensorMap> maps_[kMaps];  ///< those that the launch uses
};

class HopperRecipe final : public Recipe {
 public:
  HopperRecipe(const Problem& problem, const SplitChain& chain, HopperFeed feed,
               const HopperTile& tile)
      : problem_(problem),
        chain_(chain),
        feed_(feed),
        tile_(tile),
        shape_(hopper_conv(problem, chain)) {}

  std::string source() const override {
    const std::string fields = "fp_tensor_map input_map, weight_map, output_map;\n" +
                               geometry_fields(shape_) + "unsigned tiles, value_bytes;\n";
    const HopperShape use = hopper_shape(problem_, chain_, feed_, tile_);
    const HopperGather gather = hopper_gather(shape_);
    const Kernel& kernel = kernel_of(feed_);
    const std::string macros =
        chain_macros(problem_, chain_) + conv_macros(shape_) + define("BM", tile_.m) +
        define("BN", tile_.n) + define("PRODUCERS", use.producers) + define("STAGES", use.stages) +
        define("STEPS", hopper_steps(shape_, feed_, problem_.input().dtype)) +
        define("PACKED", shape_.packed) + define("WIDE_FILTERS", use.wide_filters) +
        define("PRODUCTS", hopper_products(shape_, feed_, problem_.input().dtype)) +
        define("STORE", static_cast<int>(use.store)) +
        define("RESIDENT", hopper_keeps_filters(shape_, feed_)) +
        define("FILTER_ROWS", hopper_filter_rows(shape_, tile_)) +
        define("CHANNELS_AT_ONCE", gather.channels) + define("SHIFT_UNIT", gather.shift_unit) +
        define("PAIRS", use.pairs) + define("TOGETHER", use.together);
    std::vector<std::string_view> headers{"fp_conv.h",          "fp_pack.h",
                                          "fp_hopper.h",        "fp_hopper_conv.h",
                                          "fp_hopper_groups.h", "fp_hopper_store.h"};
    headers.insert(headers.end(), kernel.headers.begin(), kernel.headers.end());
    return assemble_source(macros, chain_declarations(chain_, fields), kernel.file, headers);
  }
  std::vector<std::string> entries() const override {
    return {kernel_of(feed_).entry, "fp_conv_plain"};
  }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<HopperProgram>(problem_, chain_, feed_, tile_);
  }

 private:
  Problem problem_;
  SplitChain chain_;
  HopperFeed feed_;
  HopperTile tile_;
  HopperConv shape_;
};

}  // namespace

std::shared_ptr<const Recipe> conv_hopper_recipe(const Problem& problem, const SplitChain& chain,
                                                 HopperFeed feed, const HopperTile& tile) {
  return std::make_shared<HopperRecipe>(problem, chain, feed, tile);
}

}  // namespace fuseplan::gpu
