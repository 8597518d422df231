// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuPointwise final : public Solver {
 public:
  std::string_view id() const override { return "cpu_pointwise"; }
  std::string_view sentence() const override {
    return "any chain of pointwise ops in one pass over memory";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::none; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, false, RealData::none);
    if (!verdict.accepted()) return;
    need_layout(verdict,
                cpu::pointwise_refusal(question.problem, question.chain, question.traits.isa));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::pointwise_configs(question.problem, question.chain, rates_of(question)));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_pointwise_config, id(), config);
    return {"cpu_pointwise",
            cpu::pointwise_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x37x13x11:nchw;norm(spatial,f32:1x37x1x1);activation(relu)",
        "f32:2x37x13x11:nhwc;norm(spatial,f32:1x37x1x1);activation(gelu_tanh)",
        "f32:3x5x7x9:nchw;norm(per_activation,f32:1x5x7x9);activation(elu)",
        "f16:2x20x9x9:nhwc;norm(per_activation,f32:1x20x9x9:nhwc);activation(logistic)",
        "bf16:1x33x17x3:nchw;bias(bf16:1x33x1x1);activation(softrelu);scale_shift(f32:1x33x1x1);"
        "add(bf16:1x33x17x3);activation(relu)",
        "f32:2x6x3x5x7:ndhwc;scale_shift(f32:1x6x1x1x1);activation(mish)",
        "f32:4x1000:nchw;bias(f32:1x1000);activation(tanh)",
        "f16:1x64x8x8:nchw;activation(power)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_pointwise() {
  static const CpuPointwise solver;
  return solver;
}

}  // namespace fuseplan
