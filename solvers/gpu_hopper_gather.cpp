// SPDX-License-Identifier: MIT
#include "solvers/hopper_conditions.hpp"

namespace fuseplan {
namespace {

constexpr gpu::HopperFeed kFeed = gpu::HopperFeed::threads;
// Fewer leave most of the smallest tile, or of a step, empty.
constexpr std::int64_t kLeastOutputs = 8, kLeastDepth = 16;

class GpuHopperGather final : public Solver {
 public:
  std::string_view id() const override { return "gpu_hopper_gather"; }
  std::string_view sentence() const override {
    return "convolution on Hopper's tensor cores of pixels in any layout (NCHW, few channels), "
           "which threads gather, with f32 sums";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::implicit_gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_hopper_convolution(question, verdict, kFeed);
    if (!verdict.accepted()) return;
    need_size(*question.problem.conv(), verdict);
    if (const auto refusal = gpu::hopper_gather_refusal(question.problem))
      verdict.need(false, RejectCode::Convolution, "filter", *refusal,
                   "at most 7 x 7 taps; more values than shared memory holds only as KCRS, each "
                   "filter at a multiple of 8; and a step's input within 2^32 elements");
    if (!verdict.accepted()) return;
    need_hopper_tiles(question, verdict, kFeed);
  }

  // Where multiprocessors would be idle, gpu_tensor shares the depth of a tile among them.
  Rank rank(const Question& question) const override {
    return gpu::hopper_fills_device(question.problem) ? Rank::listed : Rank::behind;
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(gpu::hopper_tiles(question.problem, question.chain, kFeed));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto tile = config_of(gpu::parse_hopper_tile, id(), config);
    return {"gpu_hopper_gather", nullptr,
            gpu::conv_hopper_recipe(question.problem, question.chain, kFeed, tile)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f16:2x3x22x21:nchw;conv(f16:40x3x7x7,pad=3x3,stride=2x2);bias(f32:1x40x1x1)",
        "f16:2x40x12x12:nchw;conv(f16:96x40x3x3,pad=1x1);bias(f32:1x96x1x1);norm(spatial,f32:"
        "1x96x1x1);activation(relu)",
        "bf16:1x3x19x18:nhwc;conv(bf16:64x3x5x5:nhwc,pad=2x2,stride=2x1);activation(silu)",
        "bf16:3x72x9x7:nchw;conv(bf16:70x72x1x1);add(bf16:3x70x9x7);activation(gelu_erf)",
    };
  }

 private:
  static void need_size(const ConvOp& op, Verdict& verdict) {
    const std::int64_t outputs = op.weights.lens[0];
    const std::int64_t depth = op.weights.elements() / outputs;
    verdict.need(outputs >= kLeastOutputs, RejectCode::Size, "output channels",
                 std::to_string(outputs), fmt::format("{} or more", kLeastOutputs));
    verdict.need(depth >= kLeastDepth, RejectCode::Size, "values of a filter",
                 std::to_string(depth), fmt::format("{} or more", kLeastDepth));
  }
};

}  // namespace

const Solver& solver_gpu_hopper_gather() {
  static const GpuHopperGather solver;
  return solver;
}

}  // namespace fuseplan
