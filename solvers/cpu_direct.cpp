// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuDirect final : public Solver {
 public:
  std::string_view id() const override { return "cpu_direct"; }
  std::string_view sentence() const override {
    return "direct convolution, output channels in vectors, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::factors);
    if (!verdict.accepted()) return;
    need_layout(verdict,
                cpu::direct_refusal(question.problem, question.chain, target_of(question)));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::direct_configs(question.problem, target_of(question), rates(question)));
  }
  std::string first_config(const Question& question) const override {
    return to_text(
        cpu::first_direct_config(question.problem, target_of(question), rates(question)));
  }
  bool offers(const Question& question, std::string_view config) const override {
    const auto parsed = cpu::parse_direct_config(config);
    return parsed &&
           cpu::has_direct_config(question.problem, target_of(question), *parsed, rates(question));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_direct_config, id(), config);
    return {"cpu_direct",
            cpu::direct_recipe(question.problem, question.chain, target_of(question), parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:1x64x14x14:nchw;conv(f32:64x64x3x3,pad=1x1);bias(f32:1x64x1x1);norm(spatial,f32:"
        "1x64x1x1);activation(relu)",
        "f32:2x35x9x11:nhwc;conv(f32:50x35x3x3:nhwc,pad=1x1,stride=2x2);bias(f32:1x50x1x1);"
        "activation(gelu_erf)",
        "f32:1x40x13x13:nchw;conv(f32:72x40x1x1);add(f32:1x72x13x13);activation(clippedrelu)",
        "f16:2x24x15x15:nhwc;conv(f16:32x24x3x3,pad=2x2,dilation=2x2);norm(spatial,f32:1x32x1x1);"
        "activation(silu)",
        "bf16:1x18x12x17:nchw;conv(bf16:33x18x5x3,pad=2x0,pad_hi=1x2);activation(tanh);scale_shift("
        "f32:1x33x1x1)",
        "f32:1x3x33x33:nchw;conv(f32:64x3x7x7,pad=3x3,stride=2x2);norm(spatial,f32:1x64x1x1);"
        "activation(leakyrelu)",
        "f32:1x48x10x10:nhwc;conv(f32:60x12x3x3,pad=1x1,groups=4);bias(f32:1x60x1x1);activation("
        "elu)",
        "f32:1x8x5x9x9:nchw;conv(f32:20x8x3x3x3,pad=1x1x1);bias(f32:1x20x1x1x1);activation(mish)",
        "f16:1x9x4x7x7:ndhwc;conv(f16:17x9x2x3x3,pad=0x1x1,stride=1x2x2);activation(hardswish)",
    };
  }

 private:
  static const cpu::CoreRates& rates(const Question& question) { return rates_of(question); }
};

}  // namespace

const Solver& solver_cpu_direct() {
  static const CpuDirect solver;
  return solver;
}

}  // namespace fuseplan
