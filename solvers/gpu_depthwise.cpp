// SPDX-License-Identifier: MIT
#include "kernels/gpu/depthwise.hpp"

#include <fmt/format.h>

#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

// Larger groups fill the tiles of a matrix product.
constexpr std::int64_t kMostChannels = 8;

/// What a block may have, for the asking: NVIDIA's devices before Volta give 48 KB.
std::int64_t shared_bytes_of(const Traits& traits) {
  constexpr int kVolta = 70;
  const int capability = capability_of(traits);
  return capability > 0 && capability < kVolta ? 48 << 10 : 64 << 10;
}

// Samples of more than a line.
constexpr const char* kSample1 =
    "f32:2x40x15x15:nhwc;conv(f32:40x1x5x5:nhwc,pad=2x2,stride=2x2,groups=40);bias(f32:"
    "1x40x1x1);activation(relu)";
constexpr const char* kSample2 =
    "f32:1x24x12x18:nchw;conv(f32:24x1x3x3,pad=1x1,groups=24);add(f32:1x24x12x18);activation("
    "silu)";
constexpr const char* kSample3 =
    "f32:2x19x11x13:nchw;conv(f32:19x1x3x3,pad=2x2,dilation=2x2,groups=19);norm(spatial,f32:"
    "1x19x1x1)";
constexpr const char* kSample4 =
    "f32:2x8x4x5x7:ndhwc;conv(f32:8x1x3x3x3:ndhwc,pad=1x1x1,stride=2x1x1,groups=8);activation("
    "elu)";

class GpuDepthwise final : public Solver {
 public:
  std::string_view id() const override { return "gpu_depthwise"; }
  std::string_view sentence() const override {
    return "depthwise convolution and groups of few channels, any strides, up to three spatial "
           "axes, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_convolution(question, verdict, true);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    const ConvOp& op = *problem.conv();
    verdict.need(op.conv.groups > 1, RejectCode::Convolution, "groups", "1", "more than 1", {}, 0);
    const auto at_most = [&](const char* what, std::int64_t value, std::int64_t most) {
      verdict.need(value <= most, RejectCode::Convolution, what, std::to_string(value),
                   "at most " + std::to_string(most), {}, 0);
    };
    at_most("input channels of a group", op.weights.lens[1], kMostChannels);
    at_most("output channels of a group", op.weights.lens[0] / op.conv.groups, kMostChannels);
    at_most("rows of the filter", gpu::filter_rows(problem), gpu::kMostFilterRows);
    need_count(verdict, "output elements", static_cast<double>(problem.output().elements()));
  }

  std::vector<std::string> configs(const Question&) const override { return {"default"}; }

  Kernel build(const Question& question, std::string_view) const override {
    return {
        "gpu_depthwise", nullptr,
        gpu::depthwise_recipe(question.problem, question.chain, shared_bytes_of(question.traits))};
  }

  std::vector<std::string> samples() const override {
    return {
        kSample1,
        kSample2,
        kSample3,
        "f32:1x12x14x9:nhwc;conv(f32:36x2x3x2:nhwc,pad=1x0,groups=6);activation(gelu_erf)",
        "f32:1x16x40x9:nhwc;conv(f32:16x1x4x7:nhwc,pad=9x3,dilation=11x1,groups=16)",
        kSample4,
        "f32:2x6x5x4:s7,100,11,29;conv(f32:6x1x2x2,groups=6)->f32:2x6x4x3:s5,60,400,13",
        "f32:2x24x10:nchw;conv(f32:24x1x3,pad=1,groups=24);bias(f32:1x24x1)",
        "f32:1x1040x4x4:nhwc;conv(f32:1040x1x5x5:nhwc,pad=2x2,groups=1040)",
    };
  }
};

}  // namespace

const Solver& solver_gpu_depthwise() {
  static const GpuDepthwise solver;
  return solver;
}

}  // namespace fuseplan
