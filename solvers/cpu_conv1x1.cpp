// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/recipe.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuConv1x1 final : public Solver {
 public:
  std::string_view id() const override { return "cpu_conv1x1"; }
  std::string_view sentence() const override {
    return "1x1 convolution, finished in registers, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::factors);
    if (!verdict.accepted()) return;
    const Problem& problem = question.problem;
    const auto geometry = cpu::conv1x1_geometry_refusal(problem);
    verdict.need(!geometry, RejectCode::Convolution, "convolution", geometry.value_or(""),
                 "a filter of one tap, no padding", {}, 0);
    verdict.need(!has_fast_pairs(question), RejectCode::DataType, "data type", "bf16",
                 "f32 or f16 where the CPU multiplies pairs of bf16 faster", {}, 0);
    if (!verdict.accepted()) return;
    const int groups = problem.conv()->conv.groups;
    const bool walks =
        cpu::walks_groups(cpu::conv1x1_shape(problem, question.chain, question.traits.isa));
    verdict.need(walks, RejectCode::Convolution, "groups", std::to_string(groups),
                 "1, or contiguous rows (NCHW)", {}, 0);
    need_layout(verdict, cpu::conv1x1_refusal(problem, question.chain, question.traits.isa));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(space(question));
  }
  std::string first_config(const Question& question) const override {
    return to_text(space(question).front());
  }
  bool offers(const Question& question, std::string_view config) const override {
    return is_among(space(question), cpu::parse_conv1x1_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_conv1x1_config, id(), config);
    return {"cpu_conv1x1",
            cpu::conv1x1_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:1x64x14x14:nchw;conv(f32:72x64x1x1);bias(f32:1x72x1x1);norm(spatial,f32:1x72x1x1);"
        "activation(relu)",
        "f32:2x35x9x11:nhwc;conv(f32:50x35x1x1:nhwc);add(f32:2x50x9x11:nhwc);activation(relu)",
        "f32:2x40x13x13:nchw;conv(f32:33x40x1x1,stride=2x2);add(f32:2x33x7x7);activation("
        "clippedrelu)",
        "f32:1x256x15x15:nhwc;conv(f32:24x256x1x1,stride=2x2);norm(spatial,f32:1x24x1x1)",
        "f16:1x37x12x14:nhwc;conv(f16:52x37x1x1:nhwc);bias(f32:1x52x1x1);activation(relu)",
        "f32:1x19x5x6x7:nchw;conv(f32:20x19x1x1x1);bias(f32:1x20x1x1x1);activation(gelu_erf)",
    };
  }

 private:
  static std::vector<cpu::Conv1x1Config> space(const Question& question) {
    return cpu::conv1x1_configs(question.problem, question.chain, question.traits.isa,
                                rates_of(question));
  }
};

}  // namespace

const Solver& solver_cpu_conv1x1() {
  static const CpuConv1x1 solver;
  return solver;
}

}  // namespace fuseplan
