// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuInt8 final : public Solver {
 public:
  std::string_view id() const override { return "cpu_int8"; }
  std::string_view sentence() const override {
    return "convolution of 8-bit integers with exact sums, and any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::none);
    const DType input = question.problem.input().dtype;
    verdict.need(is_byte(input), RejectCode::DataType, "input", name_of(input), "i8 or u8");
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::byte_refusal(question.problem, question.chain, question.traits.isa,
                                           dot_of(question)));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::byte_configs(question.problem, question.traits.isa, dot_of(question)));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_byte_config, id(), config);
    return {"cpu_int8", cpu::byte_recipe(question.problem, question.chain, question.traits.isa,
                                         dot_of(question), parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "u8:1x64x14x14:nhwc;conv(i8:64x64x3x3,pad=1x1);scale_shift(f32:1x64x1x1);activation(relu)"
        "->u8:1x64x14x14:nhwc",
        "u8:2x48x15x13:nhwc;conv(i8:88x48x1x1);scale_shift(f32:1x88x1x1);add(u8:2x88x15x13:nhwc);"
        "activation(relu)->u8:2x88x15x13:nhwc",
        "i8:1x35x9x11:nhwc;conv(i8:50x35x3x3:nhwc,pad=1x1,stride=2x2);scale_shift(f32:1x50x1x1);"
        "activation(gelu_erf)",
        "u8:1x3x33x33:nhwc;conv(i8:64x3x7x7,pad=3x3,stride=2x2);scale_shift(f32:1x64x1x1);"
        "activation(relu)->u8:1x64x17x17:nhwc",
        "i8:1x24x13x13:nchw;conv(i8:40x12x3x3,pad=2x2,dilation=2x2,groups=2);norm(spatial,f32:"
        "1x40x1x1);activation(tanh)",
        "u8:1x20x14x14:nhwc;conv(i8:30x20x1x1,stride=2x2);bias(f32:1x30x1x1)->i8:1x30x7x7:nhwc",
        "i8:3x64x7x7:nhwc;conv(i8:72x64x3x3,pad=1x1);scale_shift(f32:1x72x1x1)->i8:3x72x7x7:nhwc",
        "i8:1x8x5x9x9:nchw;conv(i8:20x8x3x3x3,pad=1x1x1);scale_shift(f32:1x20x1x1x1)",
    };
  }

 private:
  static cpu::DotKind dot_of(const Question& question) {
    const Traits& traits = question.traits;
    return traits.extensions.has_vnni(traits.isa) ? cpu::DotKind::quads : cpu::DotKind::pairs;
  }
};

}  // namespace

const Solver& solver_cpu_int8() {
  static const CpuInt8 solver;
  return solver;
}

}  // namespace fuseplan
