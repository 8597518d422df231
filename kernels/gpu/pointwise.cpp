// SPDX-License-Identifier: MIT
#include "kernels/gpu/pointwise.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/pointwise/walk.hpp"
#include "kernels/gpu/chain_source.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::Walk;

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kItems = 2;  ///< loads that a thread has in flight, of each tensor
/// Rounds of those for a thread that keeps its channels' values, where there are many pieces: on an
/// H200, computing them for every piece holds batchnorm in 16 bits to a quarter of the bandwidth.
constexpr std::int64_t kMostRounds = 8;
constexpr std::int64_t kThreadsToFill = 1 << 17;  ///< of every GPU known
constexpr std::size_t kVectorBytes = 16;

/// The axes of a launch, innermost first, and which tensors have neighbours along the innermost.
struct Shape {
  Shape(const Problem& problem, const SplitChain& chain) : axes(cpu::joined_axes(problem, chain)) {
    std::reverse(axes.begin(), axes.end());
    dtypes = {problem.input().dtype, problem.output().dtype, DType::f32};
    for (const Operand& element : chain.elements) dtypes.push_back(element.tensor.dtype);
    const Walk::Axis& lanes = axes.front();
    bool all_real = true;
    for (std::size_t t = 0; t < dtypes.size(); ++t) {
      adjacent.push_back(lanes.stride[t] == 1);
      if (adjacent[t] && t != Walk::kChannel) all_real &= dtypes[t] == DType::f32;
    }
    wide = adjacent[Walk::kInput] && adjacent[Walk::kOutput] && lanes_are_plain() ? all_real ? 4 : 8
                                                                                  : 1;
  }
  bool lanes_are_plain() const {
    return std::ranges::all_of(axes.front().stride, [](std::int64_t s) { return s <= 1; });
  }
  /// Whether pieces of `wide` lanes start at multiples of it in every tensor that has lanes.
  bool divides() const {
    if (wide == 1 || axes.front().len % wide != 0) return false;
    for (std::size_t axis = 1; axis < axes.size(); ++axis)
      for (std::size_t t = 0; t < dtypes.size(); ++t)
        if (adjacent[t] && t != Walk::kChannel && axes[axis].stride[t] % wide != 0) return false;
    return true;
  }
  /// Whether all that has lanes has them in every problem: a tensor without gaps is one long row,
  /// then, in which channels change.
  bool may_be_flat() const {
    return wide > 1 && !adjacent[Walk::kChannel] && std::ranges::count(adjacent, false) == 1;
  }
  /// Whether it is one, and no piece has lanes in more than two of its planes.
  bool is_flat() const {
    if (!may_be_flat() || axes.front().len < wide) return false;
    std::int64_t before = axes.front().len;
    for (std::size_t axis = 1; axis < axes.size(); before *= axes[axis++].len)
      for (std::size_t t = 0; t < dtypes.size(); ++t)
        if (t != Walk::kChannel && axes[axis].stride[t] != before) return false;
    return true;
  }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const Walk::Axis& axis : axes) product *= axis.len;
    return product;
  }

  std::vector<Walk::Axis> axes;
  std::vector<DType> dtypes;
  std::vector<bool> adjacent;
  int wide = 1;
};

class PointwiseProgram final : public Program {
 public:
  PointwiseProgram(Shape shape, const SplitChain& chain)
      : shape_(std::move(shape)),
        chain_(chain),
        way_(shape_.divides()   ? kWide
             : shape_.is_flat() ? kFlat
                                : kPlain) {}

  Call call(const cpu::Arguments& arguments, Scratch& scratch) const override {
    const Way way = aligned(arguments) ? way_ : kPlain;
    const std::int64_t lanes = way == kWide ? shape_.wide : 1;  // that an axis counts as one
    const std::int64_t piece = way == kPlain ? 1 : shape_.wide;
    const auto count = static_cast<std::uint32_t>(shape_.count() / piece);
    ArgumentBlock block(scratch);
    chain_.put_pointers(arguments, block);
    for (const Walk::Axis& axis : shape_.axes)
      for (std::int64_t stride : axis.stride)
        block.put(&axis == &shape_.axes.front() ? stride * lanes : stride);
    for (const Walk::Axis& axis : shape_.axes)
      block.put(Divisor(&axis == &shape_.axes.front() ? axis.len / lanes : axis.len));
    const Pieces pieces = divide(count, shape_.axes.front().len / lanes);
    block.put(Divisor(pieces.step));
    block.put(count);
    block.put(static_cast<std::uint32_t>(pieces.rounds));
    block.put(static_cast<std::uint32_t>(shape_.count() % piece));
    chain_.put_uniforms(arguments, block, scratch);
    return {static_cast<unsigned>(way),
            static_cast<unsigned>(ceil_div(std::max(pieces.threads, piece), kThreads)), kThreads, 0,
            block.finish()};
  }

 private:
  /// As entries are numbered: a lane at a time; pieces within rows of lanes; pieces of one long
  /// row.
  enum Way : unsigned { kPlain, kWide, kFlat };

  /// Who takes which: a thread takes pieces that are `step` apart, kItems at a time, `rounds`
  /// times.
  struct Pieces {
    std::int64_t step, rounds, threads;
  };
  Pieces divide(std::int64_t count, std::int64_t row) const {
    if (!shape_.adjacent[Walk::kChannel])
      return {kThreads, 1, ceil_div(count, kThreads * kItems) * kThreads};
    // Whole rows apart they lie in the same channels, whose values the thread keeps.
    const std::int64_t step = row * std::max(kThreads / row, std::int64_t{1});
    const std::int64_t rounds =
        std::clamp(count / (kItems * kThreadsToFill), std::int64_t{1}, kMostRounds);
    return {step, rounds, ceil_div(count, step * kItems * rounds) * step};
  }

  bool aligned(const cpu::Arguments& arguments) const {
    const auto fits = [](const void* pointer) {
      return reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes == 0;
    };
    bool all = fits(arguments.input) && fits(arguments.output);
    for (std::size_t e = 0; e < arguments.elements.size(); ++e)
      all &= !shape_.adjacent[Walk::kElements + e] || fits(arguments.elements[e]);
    return all;
  }

  Shape shape_;
  ChainArguments chain_;
  Way way_;
};

class PointwiseRecipe final : public Recipe {
 public:
  PointwiseRecipe(const Problem& problem, const SplitChain& chain)
      : problem_(problem), chain_(chain), shape_(problem, chain) {}

  std::string source() const override {
    const std::string macros = chain_macros(problem_, chain_) + define("THREADS", kThreads) +
                               define("ITEMS", kItems) +
                               define("AXES", static_cast<std::int64_t>(shape_.axes.size())) +
                               define("TENSORS", static_cast<std::int64_t>(shape_.dtypes.size())) +
                               define("WIDE", shape_.wide) + define("FLAT", shape_.may_be_flat()) +
                               define_lanes(shape_.adjacent);
    return assemble_source(
        macros,
        chain_declarations(chain_,
                           "long long stride[FP_AXES][FP_TENSORS];\nfp_divisor len[FP_AXES];\n"
                           "fp_divisor step;\nunsigned count, rounds, rest;\n"),
        "pointwise.cu", {"fp_lanes.h"});
  }
  std::vector<std::string> entries() const override {
    std::vector<std::string> entries{"fp_pointwise"};
    if (shape_.wide > 1) entries.emplace_back("fp_pointwise_wide");
    if (shape_.may_be_flat()) entries.emplace_back("fp_pointwise_flat");
    return entries;
  }
  std::unique_ptr<Program> bind() const override {
    return std::make_unique<PointwiseProgram>(shape_, chain_);
  }

 private:
  Problem problem_;
  SplitChain chain_;
  Shape shape_;
};

}  // namespace

std::shared_ptr<const Recipe> pointwise_recipe(const Problem& problem, const SplitChain& chain) {
  return std::make_shared<PointwiseRecipe>(problem, chain);
}

}  // namespace fuseplan::gpu
