// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/strassen/recipe.hpp"

#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

// What a larger error must bring.
constexpr double kLeastSpeedup = 1.02;

/// Largest errors are two to three times those of eight products on data of like magnitude, see the
/// README in kernels/cpu/strassen; the strict attribute switches it off.
class CpuStrassen final : public Solver {
 public:
  std::string_view id() const override { return "cpu_strassen"; }
  std::string_view sentence() const override {
    return "1x1 convolution by Strassen's products, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::gemm; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::factors);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    const auto geometry = cpu::conv1x1_geometry_refusal(problem);
    verdict.need(!geometry, RejectCode::Convolution, "convolution", geometry.value_or(""),
                 "a filter of one tap, no padding", {}, 0);
    verdict.need(problem.conv()->conv.groups == 1, RejectCode::Convolution, "groups",
                 std::to_string(problem.conv()->conv.groups), "1", {}, 0);
    verdict.need(!has_fast_pairs(question), RejectCode::DataType, "data type", "bf16",
                 "f32 or f16 where the CPU multiplies pairs of bf16 faster", {}, 0);
    verdict.need(!problem.conv()->conv.strict, RejectCode::Attribute, "strict", "1", "0",
                 "it multiplies and adds what the definition does not", 0);
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::strassen_refusal(problem, question.chain, question.traits.isa));
    if (!verdict.accepted()) return;
    const double speedup =
        cpu::strassen_speedup(problem, question.chain, question.traits.isa, rates_of(question));
    if (speedup >= kLeastSpeedup) return;
    verdict.need(false, RejectCode::Size, "expected speed",
                 fmt::format("{:.2f} of what eight products reach", speedup),
                 fmt::format("{} or more", kLeastSpeedup), "more input or output channels", 0);
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(space(question));
  }
  std::string first_config(const Question& question) const override {
    return to_text(space(question).front());
  }
  bool offers(const Question& question, std::string_view config) const override {
    return is_among(space(question), cpu::parse_strassen_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_strassen_config, id(), config);
    return {"cpu_strassen",
            cpu::strassen_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:1x256x14x14:nchw;conv(f32:1026x256x1x1);bias(f32:1x1026x1x1);"
        "norm(spatial,f32:1x1026x1x1);activation(relu)",
        "f32:2x135x9x12:nhwc;conv(f32:512x135x1x1:nhwc);add(f32:2x512x9x12:nhwc);activation(relu)",
        "f32:2x260x13x13:nhwc;conv(f32:1500x260x1x1,stride=2x2);norm(spatial,f32:1x1500x1x1)",
        "f32:1x254x20x22:nchw;conv(f32:770x254x1x1);add(f32:1x770x20x22);activation(clippedrelu)",
        "f16:1x256x12x14:nhwc;conv(f16:384x256x1x1:nhwc);bias(f32:1x384x1x1);activation(relu)",
        "f32:1x390x5x6x8:nchw;conv(f32:774x390x1x1x1);bias(f32:1x774x1x1x1);activation(gelu_erf)",
    };
  }

 private:
  static std::vector<cpu::StrassenConfig> space(const Question& question) {
    return cpu::strassen_configs(question.problem, question.chain, question.traits.isa,
                                 rates_of(question));
  }
};

}  // namespace

const Solver& solver_cpu_strassen() {
  static const CpuStrassen solver;
  return solver;
}

}  // namespace fuseplan
