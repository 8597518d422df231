// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/recipe.hpp"

#include <fmt/format.h>

#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

// What a larger error must bring.
constexpr double kLeastSpeedup = 1.2;

/// Largest errors are those of cpu_winograd's tiles of as many points; the strict attribute
/// switches it off.
class CpuStem final : public Solver {
 public:
  std::string_view id() const override { return "cpu_stem"; }
  std::string_view sentence() const override {
    return "Winograd convolution of few input channels at any stride, with any chain of pointwise "
           "ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::winograd; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::factors);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    const auto geometry = cpu::stem_geometry_refusal(problem);
    verdict.need(
        !geometry, RejectCode::Convolution, "convolution", geometry.value_or(""),
        "1 group, a stride up to 48 or fewer than 16 inputs, up to 256 with their phases, 3 or 4 "
        "taps a phase of each axis, 16 products or more for each output",
        {}, 0);
    verdict.need(!problem.conv()->conv.strict, RejectCode::Attribute, "strict", "1", "0",
                 "it multiplies and adds what the definition does not", 0);
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::stem_layout_refusal(problem, question.chain));
    if (!verdict.accepted()) return;
    const double speedup = cpu::stem_speedup(problem, question.traits.isa, rates_of(question)) /
                           pairs_speedup(question);
    if (speedup >= kLeastSpeedup) return;
    verdict.need(false, RejectCode::Size, "expected speed",
                 fmt::format("{:.2f} of the direct kernel's", speedup),
                 fmt::format("{} or more", kLeastSpeedup), "more output channels", 0);
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(space(question));
  }
  std::string first_config(const Question& question) const override {
    return to_text(space(question).front());
  }
  bool offers(const Question& question, std::string_view config) const override {
    return is_among(space(question), cpu::parse_stem_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_stem_config, id(), config);
    return {"cpu_stem",
            cpu::stem_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:1x3x48x60:nchw;conv(f32:64x3x7x7,pad=3x3,stride=2x2);bias(f32:1x64x1x1);"
        "norm(spatial,f32:1x64x1x1);activation(relu)",
        "f32:2x13x27x31:nhwc;conv(f32:50x13x3x3,pad=1x1);add(f32:2x50x27x31:nhwc);activation(relu)",
        "f16:1x4x30x33:nhwc;conv(f16:72x4x8x7,pad=2x3,stride=2x2);activation(gelu_erf)",
        "f32:1x3x70x61:nchw;conv(f32:96x3x11x11,pad=2x2,stride=4x4);activation(relu)",
    };
  }

 private:
  static std::vector<cpu::StemConfig> space(const Question& question) {
    return cpu::stem_configs(question.problem, question.traits.isa, rates_of(question));
  }
};

}  // namespace

const Solver& solver_cpu_stem() {
  static const CpuStem solver;
  return solver;
}

}  // namespace fuseplan
