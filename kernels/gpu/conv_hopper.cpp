// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_hopper.hpp"

#include <algorithm>

#include "kernels/gpu/conv_source.hpp"
#include "kernels/gpu/hopper_shape.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;

constexpr unsigned kThreads = 384, kPlainThreads = 256;

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

class HopperProgram final : public Program {
 public:
  HopperProgram(const Problem& problem, const SplitChain& chain, const HopperTile& tile)
      : shape_(problem, chain),
        chain_(chain),
        tile_(tile),
        use_(hopper_shape(problem, chain, tile)),
        maps_{hopper_input_map(shape_.geometry, problem.input().dtype, tile.m),
              hopper_weight_map(shape_.geometry, problem.conv()->weights.dtype, tile.n),
              hopper_output_map(shape_.geometry, problem.output().dtype)} {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const ConvGeometry& g = shape_.geometry;
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    std::byte* maps = block.leave(kMaps * TensorMap::kBytes, TensorMap::kAlignment);
    put_geometry(shape_, block);
    block.put(static_cast<std::uint32_t>(tiles()));
    chain_.put_uniforms(arguments, block, scratch);
    Call call;
    call.arguments = block.finish(TensorMap::kAlignment);
    if (is_aligned(arguments.input) && is_aligned(arguments.weights) &&
        (!use_.store_map || is_aligned(arguments.output))) {
      fill_in(call, arguments, maps, scratch);
    } else {
      call.entry = 1;
      call.grid = static_cast<unsigned>((pixels() * g.group_outputs - 1) / kPlainThreads + 1);
      call.block = kPlainThreads;
    }
    return call;
  }
  unsigned most_shared_bytes() const override { return use_.shared_bytes; }

 private:
  static constexpr std::size_t kMaps = 3;

  std::int64_t pixels() const {
    return shape_.geometry.output.len[0] * shape_.geometry.output.pixels();
  }
  std::int64_t tiles() const { return shape_.blocks(tile_.m, tile_.n); }

  void fill_in(Call& call, const cpu::Arguments& arguments, std::byte* to, Scratch& scratch) const {
    const std::size_t count = use_.store_map ? kMaps : kMaps - 1;
    const void* bases[] = {arguments.input, arguments.weights, arguments.output};
    auto* maps = scratch.take_array<TensorMap>(count);
    for (std::size_t i = 0; i < count; ++i) {
      new (maps + i) TensorMap(maps_[i]);
      maps[i].to = to + i * TensorMap::kBytes;
      maps[i].base = bases[i];
    }
    call.maps = {maps, count};
    call.grid = static_cast<unsigned>(tiles());
    call.block = kThreads;
    call.shared_bytes = use_.shared_bytes;
    call.blocks_stay = true;
  }

  ConvShape shape_;
  ChainArguments chain_;
  HopperTile tile_;
  HopperShape use_;
  TensorMap maps_[kMaps];  ///< input, filter, output
};

class HopperRecipe final : public Recipe {
 public:
  HopperRecipe(const Problem& problem, const SplitChain& chain, const HopperTile& tile)
      : problem_(problem), chain_(chain), tile_(tile), shape_(problem, chain) {}

  std::string source() const override {
    const std::string fields = "fp_tensor_map input_map, weight_map, output_map;\n" +
                               geometry_fields(shape_) + "unsigned tiles;\n";
    const HopperShape use = hopper_shape(problem_, chain_, tile_);
    const std::string macros = chain_macros(problem_, chain_) + conv_macros(shape_) +
                               define("BM", tile_.m) + define("BN", tile_.n) +
                               define("STAGES", use.stages) + define("STORE_MAP", use.store_map);
    return assemble_source(macros, chain_declarations(chain_, fields), "conv_hopper.cu",
                           {"fp_conv.h", "fp_hopper.h"});
  }
  std::vector<std::string> entries() const override { return {"fp_conv_hopper", "fp_conv_plain"}; }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<HopperProgram>(problem_, chain_, tile_);
  }

 private:
  Problem problem_;
  SplitChain chain_;
  HopperTile tile_;
  ConvShape shape_;
};

}  // namespace

std::shared_ptr<const Recipe> conv_hopper_recipe(const Problem& problem, const SplitChain& chain,
                                                 const HopperTile& tile) {
  return std::make_shared<HopperRecipe>(problem, chain, tile);
}

}  // namespace fuseplan::gpu
