// SPDX-License-Identifier: MIT
#include "kernels/gpu/depthwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/integer.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/chain_source.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;
using cpu::View;

constexpr unsigned kThreads = 256;
constexpr std::size_t kVectorBytes = 16;
constexpr std::int64_t kMostBlocks = 132 * 8;  ///< that a large device runs at once
constexpr std::int64_t kMostRows = 16;         ///< input rows of a column, unrolled
constexpr std::size_t kChannel = 1, kDepth = 2, kHeight = 3, kWidth = 4;

struct Shape {
  Shape(const Problem& problem, const SplitChain& chain, std::int64_t most_shared)
      : g(cpu::geometry_of(problem)),
        shared_bytes(most_shared),
        channel_values(static_cast<std::int64_t>(chain.channels.roots.size())) {
    views = {g.input, g.output};
    dtypes = {problem.input().dtype, problem.output().dtype};
    for (const Operand& element : chain.elements) {
      views.push_back(cpu::broadcast_view(element.tensor, problem.output()));
      dtypes.push_back(element.tensor.dtype);
    }
    along = g.input.stride[kChannel] < g.input.stride[kWidth];
    bool all_real = true, plain = g.group_inputs == 1 && g.group_outputs == 1;
    for (std::size_t t = 0; t < views.size(); ++t) {
      const std::int64_t stride = views[t].stride[kChannel];
      adjacent.push_back(stride == 1);
      plain = plain && (stride == 1 || (stride == 0 && t > 1));
      if (adjacent[t]) all_real = all_real && dtypes[t] == DType::f32;
    }
    if (plain) wide = all_real ? 4 : 8;
    if (g.output.len[kChannel] % wide != 0) wide = 1;
    const bool near =
        (kStripRows - 1) * g.stride[1] + (g.filter[1] - 1) * g.dilation[1] < kMostRows;
    rows = near && problem.input().spatial() > 1 ? kStripRows : 1;
  }

  std::int64_t taps() const { return g.filter[0] * g.filter[1] * g.filter[2]; }
  /// Weights and the chain's channel values in shared memory.
  std::int64_t staged_bytes() const {
    return (taps() + channel_values) * g.output.len[kChannel] *
           static_cast<std::int64_t>(sizeof(float));
  }
  bool staged() const { return wide > 1 && staged_bytes() <= shared_bytes; }
  /// Whether pieces of `wide` channels start at multiples of it.
  bool divides() const {
    if (wide == 1) return false;
    for (std::size_t t = 0; t < views.size(); ++t)
      for (std::size_t axis : {std::size_t{0}, kDepth, kHeight, kWidth})
        if (adjacent[t] && views[t].len[axis] > 1 && views[t].stride[axis] % wide != 0)
          return false;
    return true;
  }
  /// Axes from the one along which threads are neighbours; the batch comes last.
  std::array<std::size_t, 4> order() const {
    if (along) return {kChannel, kWidth, kHeight, kDepth};
    return {kWidth, kHeight, kDepth, kChannel};
  }
  std::int64_t length(std::size_t axis, std::int64_t lanes) const {
    if (axis == kHeight) return ceil_div(g.output.len[axis], rows);
    return axis == kChannel ? g.output.len[axis] / lanes : g.output.len[axis];
  }
  std::int64_t strips(std::int64_t lanes) const {
    std::int64_t count = g.output.len[0];
    for (std::size_t axis : order()) count *= length(axis, lanes);
    return count;
  }

  ConvGeometry g;
  std::int64_t shared_bytes;    ///< that a block gets
  std::int64_t channel_values;  ///< of the chain, for each channel
  std::vector<View> views;      ///< of input, output, elements
  std::vector<DType> dtypes;
  std::vector<bool> adjacent;  ///< which of them have channels as neighbours
  bool along = false;          ///< threads are neighbours along channels
  int wide = 1;
  std::int64_t rows = 1;
};

class DepthwiseProgram final : public Program {
 public:
  DepthwiseProgram(Shape shape, const SplitChain& chain)
      : shape_(std::move(shape)), divides_(shape_.divides()), chain_(chain) {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const bool wide = divides_ && aligned(arguments);
    const std::int64_t lanes = wide ? shape_.wide : 1, strips = shape_.strips(lanes);
    const auto blocks = static_cast<unsigned>(
        std::min(ceil_div(strips, kThreads), wide && shape_.staged() ? kMostBlocks : strips));
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    for (const View& view : shape_.views)
      for (std::int64_t stride : view.stride) block.put(stride);
    if (shape_.views.size() == 2) put_nothing(block);
    for (std::size_t axis : shape_.order()) block.put(Divisor(shape_.length(axis, lanes)));
    const View& input = shape_.g.input;
    for (std::int64_t number :
         {strips, std::int64_t{blocks} * kThreads, input.len[kDepth], input.len[kHeight],
          input.len[kWidth], shape_.g.output.len[kHeight]})
      block.put(static_cast<std::uint32_t>(number));
    chain_.put_uniforms(arguments, block, scratch);
    const auto shared = wide && shape_.staged() ? shape_.staged_bytes() : 0;
    return {wide ? 1u : 0u, blocks, kThreads, static_cast<unsigned>(shared), block.finish()};
  }
  unsigned most_shared_bytes() const override {
    return shape_.staged() ? static_cast<unsigned>(shape_.staged_bytes()) : 0;
  }

 private:
  static void put_nothing(ArgumentBlock& block) {
    for (int i = 0; i < 5; ++i) block.put(std::int64_t{0});
  }
  bool aligned(const cpu::Arguments& arguments) const {
    const auto fits = [](const void* pointer) {
      return reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes == 0;
    };
    bool all = fits(arguments.input) && fits(arguments.output);
    for (std::size_t e = 0; e < arguments.elements.size(); ++e)
      all = all && (!shape_.adjacent[2 + e] || fits(arguments.elements[e]));
    return all;
  }

  Shape shape_;
  bool divides_;
  ChainArguments chain_;
};

class DepthwiseRecipe final : public Recipe {
 public:
  DepthwiseRecipe(const Problem& problem, const SplitChain& chain, std::int64_t shared_bytes)
      : problem_(problem), chain_(chain), shape_(problem, chain, shared_bytes) {}

  std::string source() const override {
    const std::string fields = fmt::format(
        "long long input_stride[5], output_stride[5], element_stride[{}][5];\nfp_divisor len[4];\n"
        "unsigned count, step, input_d, input_h, input_w, output_h;\n",
        std::max<std::size_t>(chain_.elements.size(), 1));
    return assemble_source(chain_macros(problem_, chain_) + macros(),
                           chain_declarations(chain_, fields), "depthwise.cu", {"fp_lanes.h"});
  }
  std::vector<std::string> entries() const override {
    if (shape_.wide == 1) return {"fp_depthwise"};
    return {"fp_depthwise", "fp_depthwise_wide"};
  }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<DepthwiseProgram>(shape_, chain_);
  }

 private:
  std::string macros() const {
    const ConvGeometry& g = shape_.g;
    std::string text =
        define("WEIGHTS", static_cast<int>(problem_.conv()->weights.dtype)) +
        define("THREADS", kThreads) + define("WIDE", shape_.wide) + define_lanes(shape_.adjacent) +
        define("STAGED", shape_.staged()) + define("T", shape_.rows) +
        define("ROW_STEP", shape_.rows == 1 ? g.dilation[1] : 1) + define("C", g.group_inputs) +
        define("K", g.group_outputs) + define("OUTPUTS", g.output.len[kChannel]) +
        define("WEIGHT_K", g.weight_stride[0]) + define("WEIGHT_C", g.weight_stride[1]);
    constexpr const char *kFilter[] = {"D", "R", "S"}, *kAxis[] = {"D", "H", "W"};
    for (std::size_t axis = 0; axis < 3; ++axis)
      text += define(kFilter[axis], g.filter[axis]) +
              define(std::string("STRIDE_") + kAxis[axis], g.stride[axis]) +
              define(std::string("PAD_") + kAxis[axis], g.pad_lo[axis]) +
              define(std::string("DILATION_") + kAxis[axis], g.dilation[axis]) +
              define(std::string("WEIGHT_") + kFilter[axis], g.weight_stride[2 + axis]);
    constexpr const char* kPlaces[] = {"N", "C", "D", "H", "W"};
    const auto order = shape_.order();
    for (std::size_t i = 0; i < order.size(); ++i)
      text += define(std::string("AT_") + kPlaces[order[i]], static_cast<std::int64_t>(i));
    return text;
  }

  Problem problem_;
  SplitChain chain_;
  Shape shape_;
};

}  // namespace

std::int64_t filter_rows(const Problem& problem) { return cpu::geometry_of(problem).filter[1]; }

std::shared_ptr<const Recipe> depthwise_recipe(const Problem& problem, const SplitChain& chain,
                                               std::int64_t shared_bytes) {
  return std::make_shared<DepthwiseRecipe>(problem, chain, shared_bytes);
}

}  // namespace fuseplan::gpu
