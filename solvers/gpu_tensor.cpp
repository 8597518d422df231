// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/status.hpp"
#include "kernels/gpu/conv_tensor.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

// Tensor cores multiply f16 from sm_75 on, the other types from sm_80 on.
constexpr int kFirst = 75, kFirstOfAllTypes = 80;
// Fewer leave most of the smallest tile empty, and the f32 units are as fast.
constexpr std::int64_t kLeastOutputs = 8, kLeastDepth = 16;

class GpuTensor final : public Solver {
 public:
  std::string_view id() const override { return "gpu_tensor"; }
  std::string_view sentence() const override {
    return "convolution as an implicit matrix product on tensor cores (f16, bf16, f32 as tf32), "
           "sums "
           "in f32";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::implicit_gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_convolution(question, verdict, true);
    if (!verdict.accepted()) return;
    need_types(question, verdict);
    need_size(question, verdict);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    need_count(verdict, "output pixels of the batch",
               static_cast<double>(problem.output().elements() / problem.output().lens[1]));
    for (const gpu::TensorTile& tile : gpu::tensor_tiles(problem, capability_of(question.traits)))
      need_count(verdict, "blocks of tile " + to_text(tile), gpu::tensor_blocks(problem, tile));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(gpu::tensor_tiles(question.problem, capability_of(question.traits)));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto tile = config_of(gpu::parse_tensor_tile, id(), config);
    return {"gpu_tensor", nullptr, gpu::tensor_recipe(question.problem, question.chain, tile)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f16:2x32x9x11:nhwc;conv(f16:40x32x3x3:nhwc,pad=1x1);bias(f32:1x40x1x1);norm(spatial,f32:"
        "1x40x1x1);add(f16:2x40x9x11:nhwc);activation(relu)",
        "f16:1x3x22x21:nhwc;conv(f16:24x3x7x7:nhwc,pad=3x3,stride=2x2);activation(silu)",
        "bf16:2x72x5x7:nhwc;conv(bf16:37x72x1x1:nhwc);scale_shift(f32:1x37x1x1)",
        "f16:3x10x9x8:nchw;conv(f16:70x10x3x2,pad=2x0,pad_hi=1x1,stride=2x1,dilation=1x2);add(f16:"
        "3x70x5x7);activation(gelu_erf)",
        "bf16:1x48x7x7:nhwc;conv(bf16:48x16x3x3:nhwc,pad=1x1,groups=3);bias(f32:1x48x1x1)",
        "f16:1x160x5x5:nhwc;conv(f16:72x160x3x3:nhwc,pad=1x1);bias(f32:1x72x1x1);add(f16:1x72x5x5:"
        "nhwc);activation(relu)",
        "f16:2x24x10:nchw;conv(f16:16x12x3,pad=1,groups=2);bias(f32:1x16x1)",
        "f16:1x16x5x6x7:ndhwc;conv(f16:24x16x3x3x3:ndhwc,pad=1x1x1,stride=2x1x1);activation(relu)",
        "bf16:2x5x4x9x6:nchw;conv(bf16:18x5x3x2x3,pad=2x0x1,dilation=2x1x1);bias(f32:1x18x1x1x1)",
    };
  }

 private:
  static void need_types(const Question& question, Verdict& verdict) {
    const DType input = question.problem.input().dtype;
    const int capability = capability_of(question.traits);
    verdict.need(capability >= kFirst, RejectCode::Device, "architecture", question.traits.arch,
                 fmt::format("sm_{} or later", kFirst));
    verdict.need(input == DType::f16 || capability >= kFirstOfAllTypes, RejectCode::Device,
                 "architecture", question.traits.arch,
                 fmt::format("sm_{} or later for {}", kFirstOfAllTypes, name_of(input)));
    need_tf32(question, verdict);
  }

  static void need_size(const Question& question, Verdict& verdict) {
    const ConvOp& op = *question.problem.conv();
    const std::int64_t outputs = op.weights.lens[0] / op.conv.groups;
    std::int64_t depth = 1;
    for (std::size_t axis = 1; axis < op.weights.lens.size(); ++axis)
      depth *= op.weights.lens[axis];
    verdict.need(outputs >= kLeastOutputs, RejectCode::Size, "output channels of a group",
                 std::to_string(outputs), fmt::format("{} or more", kLeastOutputs), {}, 0);
    verdict.need(depth >= kLeastDepth, RejectCode::Size, "values of a filter",
                 std::to_string(depth), fmt::format("{} or more", kLeastDepth), {}, 0);
  }
};

}  // namespace

const Solver& solver_gpu_tensor() {
  static const GpuTensor solver;
  return solver;
}

}  // namespace fuseplan
