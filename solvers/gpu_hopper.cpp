// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/status.hpp"
#include "kernels/gpu/conv_hopper.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

class GpuHopper final : public Solver {
 public:
  std::string_view id() const override { return "gpu_hopper"; }
  std::string_view sentence() const override {
    return "convolution on Hopper's tensor cores, fed by its copy engine, with f32 sums";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::implicit_gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    verdict.need(question.traits.arch == "sm_90a", RejectCode::Device, "architecture",
                 question.traits.arch, "sm_90a",
                 "a Hopper device, and a driver for CUDA 12 or later, which makes tensor maps");
    need_convolution(question, verdict, true);
    if (!verdict.accepted()) return;
    need_types(question.problem, verdict);
    need_shape(question.problem, verdict);
    if (!verdict.accepted()) return;
    need_maps(question, verdict);
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(gpu::hopper_tiles(question.problem, question.chain));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto tile = config_of(gpu::parse_hopper_tile, id(), config);
    return {"gpu_hopper", nullptr, gpu::conv_hopper_recipe(question.problem, question.chain, tile)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f16:2x64x12x12:nhwc;conv(f16:96x64x3x3:nhwc,pad=1x1);bias(f32:1x96x1x1);norm(spatial,f32:"
        "1x96x1x1);activation(relu)",
        "bf16:3x72x9x11:nhwc;conv(bf16:160x72x3x2:nhwc,pad=2x0,pad_hi=1x1,stride=2x1,dilation=1x2);"
        "add(bf16:3x160x5x10:nhwc);activation(silu)",
        "f16:1x8x17x13:nhwc;conv(f16:75x8x5x3:nhwc,pad=2x1,stride=2x2);scale_shift(f32:1x75x1x1)",
    };
  }

 private:
  static void need_types(const Problem& problem, Verdict& verdict) {
    const DType input = problem.input().dtype, weights = problem.conv()->weights.dtype;
    verdict.need(input == DType::f16 || input == DType::bf16, RejectCode::DataType, "input",
                 name_of(input), "f16 or bf16", "gpu_conv multiplies f32");
    verdict.need(weights == input, RejectCode::DataType, "filter", name_of(weights),
                 name_of(input));
  }

  static void need_shape(const Problem& problem, Verdict& verdict) {
    const int groups = problem.conv()->conv.groups;
    const std::int64_t channels = problem.input().lens[1];
    verdict.need(problem.input().spatial() <= 2, RejectCode::Convolution, "spatial dimensions",
                 std::to_string(problem.input().spatial()), "at most 2");
    verdict.need(groups == 1, RejectCode::Convolution, "groups", std::to_string(groups), "1");
    verdict.need(channels % 8 == 0, RejectCode::Size, "input channels", std::to_string(channels),
                 "a multiple of 8: pixels start at multiples of 16 bytes");
  }

  static void need_maps(const Question& question, Verdict& verdict) {
    const Problem& problem = question.problem;
    if (const auto refusal = gpu::hopper_layout_refusal(problem))
      verdict.need(false, RejectCode::Layout, "layout", *refusal,
                   "contiguous channels (NHWC), and strides that are multiples of 8 elements and "
                   "of each other");
    if (const auto refusal = gpu::hopper_filter_refusal(problem))
      verdict.need(false, RejectCode::Convolution, "filter", *refusal,
                   "a stride of at most 8, and edges that move by -128 to 127 pixels");
    const Tensor& output = problem.output();
    const double pixels = static_cast<double>(output.elements() / output.lens[1]);
    need_count(verdict, "output pixels of the batch", pixels);
    verdict.need(!gpu::hopper_tiles(problem, question.chain).empty(), RejectCode::Size,
                 "values of the chain for each channel",
                 std::to_string(question.chain.channels.roots.size()),
                 "as many as shared memory holds");
  }
};

}  // namespace

const Solver& solver_gpu_hopper() {
  static const GpuHopper solver;
  return solver;
}

}  // namespace fuseplan
