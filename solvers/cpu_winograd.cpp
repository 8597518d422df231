// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/recipe.hpp"

#include <fmt/format.h>

#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

// What a larger error must bring.
constexpr double kLeastSpeedup = 1.2;

/// Largest errors are up to twice those of the direct kernels on data of like magnitude, with 7
/// taps up to six times, see the README in kernels/cpu/winograd; the strict attribute switches it
/// off.
class CpuWinograd final : public Solver {
 public:
  std::string_view id() const override { return "cpu_winograd"; }
  std::string_view sentence() const override {
    return "Winograd convolution, filters with sides of 1, 3, 4, 5 or 7 taps at stride 1, "
           "dilated or not, or 3 at stride 2, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::winograd; }

  void accepts(const Question& question, Verdict& verdict) const override {
    need_vector_isa(question, verdict);
    need_convolution(question, verdict, true, RealData::factors);
    if (!verdict.accepted()) return;
    const ConvOp& op = *question.problem.conv();
    verdict.need(!op.conv.strict, RejectCode::Attribute, "strict", "1", "0",
                 "it multiplies and adds what the definition does not", 0);
    if (const auto refusal =
            cpu::winograd_refusal(question.problem, question.chain, question.traits.isa)) {
      const Kind& kind = kKinds[static_cast<std::size_t>(refusal->kind)];
      verdict.need(false, kind.code, kind.field, refusal->got, refusal->need, {}, 0);
      return;
    }
    const Traits& traits = question.traits;
    const double speedup = cpu::winograd_speedup(question.problem, traits.isa, rates_of(question)) /
                           pairs_speedup(question);
    if (speedup >= kLeastSpeedup) return;
    verdict.need(false, RejectCode::Size, "expected speed",
                 fmt::format("{:.2f} of the direct kernel's", speedup),
                 fmt::format("{} or more", kLeastSpeedup), "more channels or more outputs", 0);
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(space(question));
  }
  std::string first_config(const Question& question) const override {
    return to_text(
        cpu::first_winograd_config(question.problem, question.traits.isa, rates_of(question)));
  }
  bool offers(const Question& question, std::string_view config) const override {
    return is_among(space(question), cpu::parse_winograd_config, config);
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_winograd_config, id(), config);
    return {"cpu_winograd",
            cpu::winograd_recipe(question.problem, question.chain, question.traits.isa, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "f32:1x64x28x28:nchw;conv(f32:64x64x3x3,pad=1x1);bias(f32:1x64x1x1);norm(spatial,f32:"
        "1x64x1x1);activation(relu)",
        "f32:2x50x19x21:nhwc;conv(f32:72x50x3x3,pad=1x1);norm(spatial,f32:1x72x1x1);add(f32:"
        "2x72x19x21:nhwc);activation(relu)",
        "f32:1x40x27x30:nchw;conv(f32:33x40x3x3,pad=2x0,pad_hi=0x1);activation(silu)",
        "f16:2x35x18x23:nhwc;conv(f16:50x35x3x3,pad=1x1);bias(f32:1x50x1x1);activation(gelu_erf)",
        "bf16:3x48x17x29:nchw;conv(bf16:64x48x3x3,pad=1x1);norm(spatial,f32:1x64x1x1);add(bf16:"
        "3x64x17x29);activation(relu)",
        "f32:4x256x7x7:nhwc;conv(f32:256x256x3x3,pad=1x1);norm(spatial,f32:1x256x1x1)",
        "f32:1x64x17x19:nhwc;conv(f32:80x64x1x7,pad=0x3);bias(f32:1x80x1x1);activation(relu)",
        "f32:2x72x28x15:nchw;conv(f32:88x72x7x1,pad=3x0);norm(spatial,f32:1x88x1x1);activation("
        "elu)",
        "f16:1x40x19x22:nhwc;conv(f16:64x40x5x5,pad=2x2);add(f16:1x64x19x22:nhwc);activation(relu)",
        "f32:1x72x30x34:nhwc;conv(f32:64x72x3x3,pad=2x3,dilation=2x3);bias(f32:1x64x1x1);"
        "activation(relu)",
        "f16:2x50x26x40:nchw;conv(f16:72x50x3x3,pad=4x5,dilation=4x5);add(f16:1x72x26x40);"
        "activation(elu)",
        "f32:1x70x32x100:nchw;conv(f32:96x70x3x3,pad=1x1,stride=2x1);bias(f32:1x96x1x1);"
        "norm(spatial,f32:1x96x1x1);activation(relu)",
    };
  }

 private:
  struct Kind {
    RejectCode code;
    const char* field;
  };
  // By WinogradRefusal::Kind.
  static constexpr Kind kKinds[] = {{RejectCode::Device, "instruction set"},
                                    {RejectCode::Convolution, "convolution"},
                                    {RejectCode::DataType, "data type"},
                                    {RejectCode::Layout, "layout"},
                                    {RejectCode::Size, "input channels"}};

 private:
  static std::vector<cpu::WinogradConfig> space(const Question& question) {
    return cpu::winograd_configs(question.problem, question.traits.isa, rates_of(question));
  }
};

}  // namespace

const Solver& solver_cpu_winograd() {
  static const CpuWinograd solver;
  return solver;
}

}  // namespace fuseplan
