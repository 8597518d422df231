// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_hopper.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/gpu/chain_source.hpp"
#include "kernels/gpu/hopper_shape.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;
using cpu::View;

constexpr unsigned kThreads = 384, kPlainThreads = 256;
// The order N, C, H, W of a view whose depth is 1.
constexpr std::size_t kAxes[] = {0, 1, 3, 4};

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

class HopperProgram final : public Program {
 public:
  HopperProgram(const Problem& problem, std::vector<View> elements, const SplitChain& chain,
                const HopperTile& tile)
      : g_(cpu::geometry_of(problem)),
        elements_(std::move(elements)),
        chain_(chain),
        tile_(tile),
        shape_(hopper_shape(problem, chain, tile)),
        maps_{hopper_input_map(g_, problem.input().dtype, tile.m),
              hopper_weight_map(g_, problem.conv()->weights.dtype, tile.n),
              hopper_output_map(g_, problem.output().dtype)} {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    const std::size_t maps_at = block.align(TensorMap::kAlignment);
    for (std::size_t i = 0; i < std::size(maps_); ++i)
      block.put(std::array<std::byte, TensorMap::kBytes>{});
    put_strides(g_.input, block);
    put_strides(g_.output, block);
    for (const View& element : elements_) put_strides(element, block);
    if (elements_.empty()) put_strides({}, block);
    block.put(Divisor(g_.output.len[4]));
    block.put(Divisor(g_.output.len[3]));
    for (std::int64_t length : {pixels(), tiles(), g_.input.len[3], g_.input.len[4]})
      block.put(static_cast<std::uint32_t>(length));
    chain_.put_uniforms(arguments, block, scratch);
    Call call;
    call.arguments = block.finish(TensorMap::kAlignment);
    if (is_aligned(arguments.input) && is_aligned(arguments.weights) &&
        (!shape_.store_map || is_aligned(arguments.output))) {
      fill_in(call, arguments, maps_at, scratch);
    } else {
      call.entry = 1;
      call.grid = static_cast<unsigned>((pixels() * g_.group_outputs - 1) / kPlainThreads + 1);
      call.block = kPlainThreads;
    }
    return call;
  }
  unsigned most_shared_bytes() const override { return shape_.shared_bytes; }

 private:
  static void put_strides(const View& view, ArgumentBlock& block) {
    for (std::size_t axis : kAxes) block.put(view.stride[axis]);
  }
  std::int64_t pixels() const { return g_.output.len[0] * g_.output.pixels(); }
  std::int64_t tiles() const { return hopper_tile_count(g_, tile_); }

  void fill_in(Call& call, const cpu::Arguments& arguments, std::size_t at,
               Scratch& scratch) const {
    const std::size_t count = shape_.store_map ? 3 : 2;
    const void* bases[] = {arguments.input, arguments.weights, arguments.output};
    auto* maps = scratch.take_array<TensorMap>(count);
    for (std::size_t i = 0; i < count; ++i) {
      new (maps + i) TensorMap(maps_[i]);
      maps[i].at = at + i * TensorMap::kBytes;
      maps[i].base = bases[i];
    }
    call.maps = {maps, count};
    call.grid = static_cast<unsigned>(tiles());
    call.block = kThreads;
    call.shared_bytes = shape_.shared_bytes;
    call.blocks_stay = true;
  }

  ConvGeometry g_;
  std::vector<View> elements_;
  ChainArguments chain_;
  HopperTile tile_;
  HopperShape shape_;
  TensorMap maps_[3];  ///< input, filter, output
};

class HopperRecipe final : public Recipe {
 public:
  HopperRecipe(const Problem& problem, const SplitChain& chain, const HopperTile& tile)
      : problem_(problem), chain_(chain), tile_(tile), g_(cpu::geometry_of(problem)) {
    for (const Operand& element : chain.elements)
      elements_.push_back(cpu::broadcast_view(element.tensor, problem.output()));
  }

  std::string source() const override {
    const std::string fields = fmt::format(
        "fp_tensor_map input_map, weight_map, output_map;\n"
        "long long input_stride[4], output_stride[4], element_stride[{}][4];\n"
        "fp_divisor width, height;\nunsigned pixels, tiles, input_h, input_w;\n",
        std::max<std::size_t>(elements_.size(), 1));
    return assemble_source(chain_macros(problem_, chain_) + macros(),
                           chain_declarations(chain_, fields), "conv_hopper.cu", {"fp_hopper.h"});
  }
  std::vector<std::string> entries() const override { return {"fp_conv_hopper", "fp_conv_plain"}; }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<HopperProgram>(problem_, elements_, chain_, tile_);
  }

 private:
  std::string macros() const {
    const HopperShape shape = hopper_shape(problem_, chain_, tile_);
    std::string text;
    const auto define = [&](const char* name, std::int64_t value) {
      text += fmt::format("#define FP_{} {}\n", name, value);
    };
    define("BM", tile_.m), define("BN", tile_.n);
    define("STAGES", shape.stages), define("STORE_MAP", shape.store_map ? 1 : 0);
    define("C", g_.group_inputs), define("K", g_.group_outputs);
    define("R", g_.filter[1]), define("S", g_.filter[2]);
    define("STRIDE_H", g_.stride[1]), define("STRIDE_W", g_.stride[2]);
    define("PAD_H", g_.pad_lo[1]), define("PAD_W", g_.pad_lo[2]);
    define("DILATION_H", g_.dilation[1]), define("DILATION_W", g_.dilation[2]);
    define("WEIGHT_K", g_.weight_stride[0]);
    define("WEIGHT_R", g_.weight_stride[3]), define("WEIGHT_S", g_.weight_stride[4]);
    return text;
  }

  Problem problem_;
  SplitChain chain_;
  HopperTile tile_;
  ConvGeometry g_;
  std::vector<View> elements_;
};

}  // namespace

std::shared_ptr<const Recipe> conv_hopper_recipe(const Problem& problem, const SplitChain& chain,
                                                 const HopperTile& tile) {
  return std::make_shared<HopperRecipe>(problem, chain, tile);
}

}  // namespace fuseplan::gpu
