// SPDX-License-Identifier: MIT
#include "solvers/hopper_conditions.hpp"

namespace fuseplan {
namespace {

constexpr gpu::HopperFeed kFeed = gpu::HopperFeed::copies;

class GpuHopper final : public Solver {
 public:
  std::string_view id() const override { return "gpu_hopper"; }
  std::string_view sentence() const override {
    return "convolution on Hopper's tensor cores (f16, bf16, f32 as tf32), fed by its copy engine, "
           "with f32 sums";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::implicit_gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    const Problem& problem = question.problem;
    need_hopper_convolution(question, verdict, kFeed);
    if (!verdict.accepted()) return;
    need_packed_groups(question, verdict);
    const std::int64_t channels = problem.input().lens[1];
    const auto together = static_cast<std::int64_t>(16 / size_of(problem.input().dtype));
    verdict.need(channels % together == 0, RejectCode::Size, "input channels",
                 std::to_string(channels),
                 fmt::format("a multiple of {}: pixels start at multiples of 16 bytes", together));
    if (!verdict.accepted()) return;
    if (const auto refusal = gpu::hopper_layout_refusal(problem))
      verdict.need(false, RejectCode::Layout, "layout", *refusal,
                   "contiguous channels (NHWC), and strides that are multiples of 16 bytes and "
                   "of each other");
    if (const auto refusal = gpu::hopper_filter_refusal(problem))
      verdict.need(false, RejectCode::Convolution, "filter", *refusal,
                   "a stride of at most 8, edges that move by -128 to 127 pixels, and in groups "
                   "few taps");
    need_hopper_tiles(question, verdict, kFeed);
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(gpu::hopper_tiles(question.problem, question.chain, kFeed));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto tile = config_of(gpu::parse_hopper_tile, id(), config);
    return {"gpu_hopper", nullptr,
            gpu::conv_hopper_recipe(question.problem, question.chain, kFeed, tile)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f16:2x64x12x12:nhwc;conv(f16:96x64x3x3:nhwc,pad=1x1);bias(f32:1x96x1x1);norm(spatial,f32:"
        "1x96x1x1);activation(relu)",
        "bf16:3x72x9x11:nhwc;conv(bf16:160x72x3x2:nhwc,pad=2x0,pad_hi=1x1,stride=2x1,dilation=1x2);"
        "add(bf16:3x160x5x10:nhwc);activation(silu)",
        "f16:1x8x17x13:nhwc;conv(f16:75x8x5x3:nhwc,pad=2x1,stride=2x2);scale_shift(f32:1x75x1x1)",
        "f16:2x136x11x9:nhwc;conv(f16:136x8x3x3:nhwc,pad=1x1,groups=17);bias(f32:1x136x1x1);"
        "activation(relu)",
        "bf16:3x192x7x8:nhwc;conv(bf16:192x32x3x2,pad=1x0,stride=2x1,groups=6);"
        "norm(spatial,f32:1x192x1x1);add(bf16:3x192x4x7:nhwc)",
    };
  }
};

}  // namespace

const Solver& solver_gpu_hopper() {
  static const GpuHopper solver;
  return solver;
}

}  // namespace fuseplan
