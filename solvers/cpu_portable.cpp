// SPDX-License-Identifier: MIT
#include "expr/norm_stages.hpp"
#include "kernels/cpu/portable/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuPortable final : public Solver {
 public:
  std::string_view id() const override { return "cpu_portable"; }
  std::string_view sentence() const override {
    return "every plan on every CPU and any strides, in plain C++; statistics excepted";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    const bool gathers = statistics_stages(question.problem, question.chain).has_value();
    verdict.need(!gathers, RejectCode::Sequence, "last op", "statistics", "any other op",
                 "cpu_statistics runs it around other kernels, these among them");
  }

  Rank rank(const Question&) const override { return Rank::last_resort; }

  std::vector<std::string> configs(const Question&) const override { return {"default"}; }

  Kernel build(const Question& question, std::string_view) const override {
    return {"cpu_portable", cpu::portable_recipe(question.problem, question.chain)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x17x13x13:nchw;conv(f32:19x17x3x3,pad=1x1);bias(f32:1x19x1x1);norm(spatial,f32:"
        "1x19x1x1);activation(relu)",
        "f16:1x12x14x14:nhwc;conv(f16:36x1x3x3,pad=1x1,groups=12);activation(gelu_erf)",
        "f32:2x6x5x4:s7,100,11,29;conv(f32:4x6x2x2);activation(elu)->f32:2x4x4x3:s5,60,300,13",
        "bf16:2x9x6x6:s1000,3,31,200;norm(spatial,f32:1x9x1x1);add(bf16:2x9x6x6);activation(mish)",
        "f32:1x5x4x6x6:nchw;conv(f32:7x5x3x3x3,pad=1x1x1,stride=1x2x1);bias(f32:1x7x1x1x1)",
        "f32:3x17x9x7:nchw;norm_training(spatial,f32:1x17x1x1,running);activation(relu)",
        "f32:5x7x6x5:nchw;norm_training(per_activation,f32:1x7x6x5);activation(tanh)",
        "f32:3x17x9x7:nchw;activation_backward(elu,f32:3x17x9x7);norm_backward(spatial,f32:"
        "1x17x1x1,f32:3x17x9x7)",
        "f32:5x7x6x5:nchw;activation_backward(silu,f32:5x7x6x5);norm_backward(per_activation,f32:"
        "1x7x6x5,f32:5x7x6x5)",
        "f32:2x9x8x5:nchw;activation_backward(logistic,f32:2x9x8x5)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_portable() {
  static const CpuPortable solver;
  return solver;
}

}  // namespace fuseplan
