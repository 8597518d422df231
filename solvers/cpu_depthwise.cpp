// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/recipe.hpp"
#include "kernels/cpu/grouped/recipe.hpp"
#include "solvers/cpu_conditions.hpp"
#include "solvers/cpu_groups.hpp"

namespace fuseplan {
namespace {

/// The config of what is copied apart by phase instead of being computed in tiles.
constexpr std::string_view kStaged = "staged";

bool in_tiles(const Question& question) {
  const bool plain =
      question.problem.conv()->weights.lens[0] == question.problem.conv()->conv.groups;
  return plain && !cpu::grouped_refusal(question.problem, question.chain, target_of(question));
}

class CpuDepthwise final : public Solver {
 public:
  std::string_view id() const override { return "cpu_depthwise"; }
  std::string_view sentence() const override {
    return "depthwise convolution of contiguous rows, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::none);
    if (!verdict.accepted()) return;
    const ConvOp& op = *question.problem.conv();
    verdict.need(op.weights.lens[1] == 1, RejectCode::Convolution, "input channels of a group",
                 std::to_string(op.weights.lens[1]), "1", {}, 0);
    if (verdict.accepted()) need_exact_sums(question, verdict);
    if (!verdict.accepted() || in_tiles(question)) return;
    need_layout(verdict,
                cpu::depthwise_refusal(question.problem, question.chain, question.traits.isa));
  }

  Rank rank(const Question& question) const override { return rank_of_f32_sums(question); }

  std::vector<std::string> configs(const Question& question) const override {
    if (!in_tiles(question)) return {std::string(kStaged)};
    return texts_of(cpu::grouped_configs(question.problem, question.chain, target_of(question),
                                         rates_of(question)));
  }

  std::string first_config(const Question& question) const override {
    if (!in_tiles(question)) return std::string(kStaged);
    return to_text(cpu::first_grouped_config(question.problem, question.chain, target_of(question),
                                             rates_of(question)));
  }

  bool offers(const Question& question, std::string_view config) const override {
    if (!in_tiles(question)) return config == kStaged;
    return is_among(cpu::grouped_configs(question.problem, question.chain, target_of(question),
                                         rates_of(question)),
                    cpu::parse_grouped_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto& [problem, chain, traits, filter] = question;
    if (config == kStaged) return {"cpu_depthwise", depthwise_recipe(problem, chain, traits.isa)};
    const auto parsed = config_of(cpu::parse_grouped_config, id(), config);
    return {"cpu_depthwise", grouped_recipe(problem, chain, target_of(question), parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:2x37x15x15:nchw;conv(f32:37x1x5x5,pad=2x2,stride=2x2,groups=37);bias(f32:1x37x1x1);"
        "activation(relu)",
        "f32:1x24x12x18:nchw;conv(f32:24x1x3x3,pad=1x1,groups=24);add(f32:1x24x12x18);activation("
        "silu)",
        "f16:1x32x17x19:nchw;conv(f16:32x1x3x3,pad=1x1,stride=3x3,groups=32);bias(f16:1x32x1x1);"
        "activation(hardswish)",
        "bf16:1x19x11x13:nchw;conv(bf16:19x1x3x3,pad=2x2,dilation=2x2,groups=19);norm(spatial,f32:"
        "1x19x1x1)",
        "u8:1x35x14x15:nhwc;conv(i8:35x1x3x3,pad=1x1,groups=35);scale_shift(f32:1x35x1x1);"
        "activation(clippedrelu)->u8:1x35x14x15:nhwc",
        "i8:2x12x17x19:nchw;conv(i8:12x1x3x3,pad=1x1,stride=2x2,groups=12);norm(spatial,f32:"
        "1x12x1x1)->i8:2x12x9x10:nchw",
        "u8:1x9x16x20:nchw;conv(i8:9x1x5x5,pad=2x2,stride=3x3,groups=9);bias(f32:1x9x1x1)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_depthwise() {
  static const CpuDepthwise solver;
  return solver;
}

}  // namespace fuseplan
