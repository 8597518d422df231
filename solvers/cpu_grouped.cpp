// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/recipe.hpp"
#include "solvers/cpu_conditions.hpp"
#include "solvers/cpu_groups.hpp"

namespace fuseplan {
namespace {

class CpuGrouped final : public Solver {
 public:
  std::string_view id() const override { return "cpu_grouped"; }
  std::string_view sentence() const override {
    return "convolution with small groups, or of very few channels in NCHW, with any chain of "
           "pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::none);
    if (!verdict.accepted()) return;
    const ConvOp& op = *question.problem.conv();
    verdict.need(op.weights.lens[1] > 1 || op.weights.lens[0] > op.conv.groups,
                 RejectCode::Convolution, "channels of a group", "one input and one output",
                 "more than that", {}, 0);
    need_exact_sums(question, verdict);
    if (!verdict.accepted()) return;
    const auto refusal =
        cpu::grouped_refusal(question.problem, question.chain, target_of(question));
    verdict.need(!refusal, RejectCode::Convolution, "groups",
                 refusal ? std::string_view(*refusal) : "",
                 "several groups of at most 16 input channels; or one, in NCHW rows of a vector "
                 "and more, with at most 8 outputs, or 3 inputs (4 on AVX-512) and few taps; fewer "
                 "of types that AMX or AVX512_BF16 multiply faster",
                 {}, 0);
  }

  Rank rank(const Question& question) const override { return rank_of_f32_sums(question); }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::grouped_configs(question.problem, question.chain, target_of(question),
                                         rates_of(question)));
  }

  std::string first_config(const Question& question) const override {
    return to_text(cpu::first_grouped_config(question.problem, question.chain, target_of(question),
                                             rates_of(question)));
  }

  bool offers(const Question& question, std::string_view config) const override {
    return is_among(cpu::grouped_configs(question.problem, question.chain, target_of(question),
                                         rates_of(question)),
                    cpu::parse_grouped_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_grouped_config, id(), config);
    return {"cpu_grouped",
            cpu::grouped_recipe(question.problem, question.chain, target_of(question), parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x32x9x11:nhwc;conv(f32:48x4x3x3,pad=1x1,groups=8);bias(f32:1x48x1x1);activation("
        "relu)",
        "f32:1x24x13x19:nchw;conv(f32:32x3x3x3,pad=1x1,stride=2x2,groups=8);norm(spatial,f32:"
        "1x32x1x1);activation(silu)",
        "f16:1x12x15x15:nhwc;conv(f16:36x1x3x3,pad=1x1,groups=12);bias(f16:1x36x1x1);activation("
        "hardswish)",
        "bf16:1x10x11x33:nchw;conv(bf16:20x1x5x3,pad=2x1,pad_hi=1x2,dilation=1x2,groups=10);add("
        "bf16:1x20x10x32)",
        "f32:1x16x5x9x9:nchw;conv(f32:32x2x3x3x3,pad=1x1x1,groups=8);bias(f32:1x32x1x1x1);"
        "activation(gelu_erf)",
        "f32:1x32x14x15:nhwc;conv(f32:32x4x3x3,pad=1x1,groups=8);bias(f32:1x32x1x1);activation("
        "relu)",
        "bf16:2x48x12x7:nhwc;conv(bf16:16x12x3x3,pad=1x1,groups=4);activation(tanh);add("
        "bf16:2x16x12x7:nhwc)",
        "u8:1x32x13x15:nhwc;conv(i8:32x4x3x3,pad=1x1,groups=8);scale_shift(f32:1x32x1x1);"
        "activation(relu)->u8:1x32x13x15:nhwc",
    };
  }
};

}  // namespace

const Solver& solver_cpu_grouped() {
  static const CpuGrouped solver;
  return solver;
}

}  // namespace fuseplan
