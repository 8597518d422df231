// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "kernels/gpu/pointwise.hpp"
#include "solvers/gpu_conditions.hpp"

namespace fuseplan {
namespace {

class GpuPointwise final : public Solver {
 public:
  std::string_view id() const override { return "gpu_pointwise"; }
  std::string_view sentence() const override {
    return "any chain of pointwise ops and any strides in one pass over memory";
  }
  std::string_view backend() const override { return "cuda"; }
  Algorithm algorithm() const override { return Algorithm::none; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_convolution(question, verdict, false);
    need_count(verdict, "elements", static_cast<double>(question.problem.output().elements()));
  }

  std::vector<std::string> configs(const Question&) const override { return {"default"}; }

  Kernel build(const Question& question, std::string_view) const override {
    return {"gpu_pointwise", nullptr, gpu::pointwise_recipe(question.problem, question.chain)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x37x13x11:nchw;norm(spatial,f32:1x37x1x1);activation(relu)",
        "f32:2x40x13x11:nhwc;norm(spatial,f32:1x40x1x1);activation(gelu_tanh)",
        "f32:3x5x7x9:nchw;norm(per_activation,f32:1x5x7x9);activation(elu)",
        "bf16:1x33x16x4:nchw;bias(bf16:1x33x1x1);activation(softrelu);scale_shift(f32:1x33x1x1);"
        "add(bf16:1x33x16x4);activation(relu)",
        "f32:2x6x3x5x7:ndhwc;scale_shift(f32:1x6x1x1x1);activation(mish)",
        "f32:4x1000:nchw;bias(f32:1x1000);activation(power)",
        "f32:2x9x6x6:s1000,3,31,200;norm(spatial,f32:1x9x1x1);add(f32:2x9x1x6);activation(gelu_"
        "erf)",
    };
  }
};

}  // namespace

const Solver& solver_gpu_pointwise() {
  static const GpuPointwise solver;
  return solver;
}

}  // namespace fuseplan
