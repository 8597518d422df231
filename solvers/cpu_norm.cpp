// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuNorm final : public Solver {
 public:
  std::string_view id() const override { return "cpu_norm"; }
  std::string_view sentence() const override {
    return "batch normalisation for training, forward and backward, in as few passes over memory "
           "as the caches allow";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::none; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_real_data(question, verdict);
    verdict.need(question.problem.batch_op() >= 0, RejectCode::Sequence, "ops",
                 "none that needs sums over the batch", "norm_training or norm_backward");
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::norm_refusal(question.problem, question.chain, question.traits.isa));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::norm_configs(question.problem, question.chain));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_norm_config, id(), config);
    return {"cpu_norm",
            cpu::norm_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x37x13x11:nchw;norm_training(spatial,f32:1x37x1x1,running);activation(relu)",
        "f32:2x37x13x11:nhwc;norm_training(spatial,f32:1x37x1x1,running);activation(gelu_tanh)",
        "f32:2x3x150x149:nchw;norm_training(spatial,f32:1x3x1x1);add(f32:2x3x150x149:nchw);"
        "activation(relu)",
        "f32:3x30x80x81:nhwc;norm_training(spatial,f32:1x30x1x1,running)",
        "f32:3x1090x7x7:nhwc;norm_training(spatial,f32:1x1090x1x1)",
        "f16:3x5x7x9:nchw;norm_training(spatial,f32:1x5x1x1);activation(elu)",
        "bf16:5x33x4x3:nhwc;norm_training(spatial,f32:1x33x1x1);bias(f32:1x33x1x1);activation("
        "logistic)",
        "f32:7x5x9x8:nchw;norm_training(per_activation,f32:1x5x9x8,running);activation(tanh)",
        "bf16:5x20x9x9:nhwc;norm_training(per_activation,f32:1x20x9x9:nhwc);activation(relu)",
        "f32:40x50:nchw;norm_training(spatial,f32:1x50)",
        "f32:2x37x13x11:nchw;activation_backward(relu,f32:2x37x13x11:nchw);norm_backward(spatial,"
        "f32:1x37x1x1,f32:2x37x13x11:nchw)",
        "f32:2x37x13x11:nhwc;activation_backward(silu,f32:2x37x13x11:nhwc);norm_backward(spatial,"
        "f32:1x37x1x1,f32:2x37x13x11:nhwc)",
        "f16:4x6x3x5x7:ndhwc;norm_backward(spatial,f32:1x6x1x1x1,f16:4x6x3x5x7:ndhwc)",
        "f32:2x3x150x149:nchw;norm_backward(spatial,f32:1x3x1x1,f32:2x3x150x149:nchw)",
        "bf16:9x21x5x4:nhwc;activation_backward(tanh,bf16:9x21x5x4:nhwc);norm_backward("
        "per_activation,f32:1x21x5x4:nhwc,bf16:9x21x5x4:nhwc)",
        "f16:9x2x5x4:nchw;activation_backward(elu,f16:9x2x5x4:nchw);norm_backward("
        "per_activation,f32:1x2x5x4,f16:9x2x5x4:nchw)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_norm() {
  static const CpuNorm solver;
  return solver;
}

}  // namespace fuseplan
