// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "expr/chain.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/cpu/portable/block_io.hpp"
#include "kernels/cpu/portable/chain_interpreter.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A block of output elements: `shape.rows` positions along `row_axis` by `shape.lanes` along
/// `lane_axis`, starting at `index`.
struct BlockPlace {
  std::array<std::int64_t, 5> index{};
  std::size_t row_axis, lane_axis;
  BlockShape shape;
};

std::int64_t offset_in(const View& view, const std::array<std::int64_t, 5>& index);

/// The pointwise part of a plan over output blocks, whatever the strides, broadcasts and dtypes of
/// the tensors it reads and writes.
class Finisher {
 public:
  Finisher(const Problem& problem, const SplitChain& chain);

  /// Joins neighbouring axes that every tensor walks as one. `extra` are views of tensors outside
  /// the chain that must be joinable too; they are joined with the others.
  void join_axes(std::vector<View*> extra = {});

  const View& output() const { return output_; }

  /// What is computed once per launch; lives in the scratch memory of the launching thread.
  struct Launch {
    const Arguments& arguments;
    const float* uniforms;
    const float* channels;  ///< root r of channel k: [r * channel_count + k]
    std::int64_t channel_count;
  };
  Launch launch(const Arguments& arguments, Scratch& scratch) const;

  /// One thread's state. Takes memory from `scratch`; all three arguments must outlive it.
  class Worker {
   public:
    Worker(const Finisher& finisher, const Launch& launch, Scratch& scratch);
    /// Stores the chain's result for the block. `input`, a block of the same shape, is what the
    /// chain starts from; nullptr reads the plan's input instead.
    void finish(const BlockPlace& place, const float* input);
    /// The same without storing: the results are in root() until the next call.
    void evaluate(const BlockPlace& place, const float* input);
    const float* root(std::size_t number) const { return frame_.root(number); }

   private:
    struct Source {  // where a leaf's values lie
      DType dtype;
      const void* data;
      BlockSteps steps;
      bool operator==(const Source&) const = default;
    };
    struct Loaded {  // what a leaf's block holds, if it can be used again
      Source source;
      BlockShape shape;
      bool operator==(const Loaded&) const = default;
    };
    Source source_of(const ChainInterpreter<float>::LeafId& leaf, const BlockPlace& place) const;
    Source tensor_source(DType dtype, const View& view, const void* data,
                         const BlockPlace& place) const;

    const Finisher& finisher_;
    const Launch& launch_;
    ChainInterpreter<float>::Frame frame_;
    float* blocks_;
    std::optional<Loaded>* loaded_;
  };

 private:
  struct Operand {
    DType dtype;
    View view;
  };
  void launch_uniforms(const Arguments& arguments, float* uniforms, Scratch& scratch) const;
  void launch_channels(const Arguments& arguments, const float* uniforms, float* channels,
                       Scratch& scratch) const;

  DType input_dtype_, output_dtype_;
  View input_, output_;
  bool has_input_;  // of the output's lengths: there is no convolution before the chain
  std::vector<Operand> elements_;
  std::vector<Tensor> channels_in_;
  std::size_t uniform_roots_, channel_roots_;
  ChainInterpreter<double> uniforms_, channels_;
  ChainInterpreter<float> body_;
};

}  // namespace fuseplan::cpu
