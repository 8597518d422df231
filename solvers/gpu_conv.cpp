// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/status.hpp"
#include "kernels/gpu/conv.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

class GpuConv final : public Solver {
 public:
  std::string_view id() const override { return "gpu_conv"; }
  std::string_view sentence() const override {
    return "convolution as an implicit matrix product with f32 sums, up to three spatial axes";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::implicit_gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_convolution(question, verdict, true);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    const Tensor& output = problem.output();
    need_count(verdict, "output pixels of the batch",
               static_cast<double>(output.elements() / output.lens[1]));
    for (const gpu::ConvTile& tile : gpu::conv_tiles(problem))
      need_count(verdict, "blocks of tile " + to_text(tile), gpu::conv_blocks(problem, tile));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(gpu::conv_tiles(question.problem));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto tile = config_of(gpu::parse_conv_tile, id(), config);
    return {"gpu_conv", nullptr, gpu::conv_recipe(question.problem, question.chain, tile)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x17x13x13:nchw;conv(f32:19x17x3x3,pad=1x1);bias(f32:1x19x1x1);norm(spatial,f32:"
        "1x19x1x1);activation(relu)",
        "f16:1x12x14x14:nhwc;conv(f16:36x1x3x3,pad=1x1,groups=12);activation(gelu_erf)",
        "f32:2x6x5x4:s7,100,11,29;conv(f32:4x6x2x2);activation(elu)->f32:2x4x4x3:s5,60,300,13",
        "bf16:3x10x9x8:nhwc;conv(bf16:70x10x3x2,pad=2x0,pad_hi=1x1,stride=2x1,dilation=1x2);"
        "add(bf16:3x70x5x7);activation(silu)",
        "f32:1x3x30x31:nchw;conv(f32:130x3x5x5,pad=2x2,stride=2x2);scale_shift(f32:1x130x1x1)",
        "f32:2x24x10:nchw;conv(f32:8x12x3,pad=1,groups=2);bias(f32:1x8x1)",
        "f32:1x5x4x9x7:nchw;conv(f32:19x5x3x2x3,pad=1x0x2,stride=1x2x1,dilation=2x1x1);add(f32:"
        "1x19x2x4x9);activation(relu)",
        "bf16:2x10x5x4x6:ndhwc;conv(bf16:12x10x2x3x1:ndhwc,pad=1x1x0);activation(tanh)",
    };
  }
};

}  // namespace

const Solver& solver_gpu_conv() {
  static const GpuConv solver;
  return solver;
}

}  // namespace fuseplan
