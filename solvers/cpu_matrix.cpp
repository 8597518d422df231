// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/matrix/recipe.hpp"
#include "kernels/cpu/winograd/recipe.hpp"
#include "solvers/cpu_conditions.hpp"
#include "solvers/cpu_groups.hpp"

namespace fuseplan {
namespace {

/// Of numbers in pieces: those of f32 leave something out, and neither is worth it everywhere.
void need_gain(const Question& question, Verdict& verdict) {
  // Of models: Winograd's error is larger, and it should bring something; more where tiles multiply
  // exactly.
  constexpr double kLeastSpeedup = 1.2, kGainOverExact = 1.2, kGain = 1.05;
  const double least_gain = question.problem.input().dtype == DType::f16 ? kGainOverExact : kGain;
  verdict.need(!question.problem.conv()->conv.strict, RejectCode::Attribute, "strict", "1", "0",
               "it multiplies and adds pieces of the numbers", 0);
  const double speedup = cpu::matrix_speedup(question.problem);
  double least = kLeastSpeedup;
  if (may_run(question, "cpu_winograd") &&
      !cpu::winograd_refusal(question.problem, question.chain, question.traits.isa))
    least = std::max(
        least, cpu::winograd_speedup(question.problem, question.traits.isa, rates_of(question)) /
                   least_gain);
  verdict.need(speedup >= least, RejectCode::Size, "expected speed",
               fmt::format("{:.2f} of the direct kernel's", speedup),
               fmt::format("{:.2f} or more", least), "more channels or more pixels", 0);
}

/// Of a group: fewer leave most of a tile idle, in pieces several times.
constexpr std::int64_t kFewestInputs = 32, kFewestWhole = 8;

class CpuMatrix final : public Solver {
 public:
  std::string_view id() const override { return "cpu_matrix"; }
  std::string_view sentence() const override {
    return "convolution in AMX tiles, f32 and f16 as sums of bf16, or of 8-bit integers, with any "
           "chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  Algorithm algorithm() const override { return Algorithm::direct; }

  void accepts(const Question& question, Verdict& verdict) const override {
    const DType input = question.problem.input().dtype;
    const cpu::Extensions& has = question.traits.extensions;
    need_convolution(question, verdict, true, RealData::none);
    const bool tiles = is_byte(input) ? has.tiles_int8 : has.tiles_bf16;
    verdict.need(
        tiles, RejectCode::Device, "instruction set", question.traits.to_text(),
        is_byte(input) ? "AMX with amx_int8" : "AMX with amx_bf16",
        "raise the max_isa option, or run on a CPU that has it, and whose system grants its tiles");
    if (!verdict.accepted()) return;
    const ConvOp& conv = *question.problem.conv();
    const std::int64_t fewest = input == DType::bf16 ? kFewestWhole : kFewestInputs;
    verdict.need(conv.conv.groups == 1 || conv.weights.lens[1] >= fewest ||
                     cpu::merged_groups(question.problem) > 1,
                 RejectCode::Convolution, "groups",
                 fmt::format("{} of {} channels", conv.conv.groups, conv.weights.lens[1]),
                 "one group, or groups of at least 32 input channels (8 of bf16), or, of 8-bit "
                 "integers, a number of groups that can be multiplied as one",
                 {}, 0);
    constexpr std::int64_t kMostTerms = 1 << 16;
    const std::int64_t terms = cpu::matrix_terms(question.problem);
    verdict.need(terms <= kMostTerms, RejectCode::Size, "filter",
                 fmt::format("{} taps of some channels each", terms),
                 fmt::format("at most {}", kMostTerms), {}, 0);
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::matrix_refusal(question.problem, question.chain));
    if (verdict.accepted() && cpu::splits_numbers(question.problem)) need_gain(question, verdict);
  }

  Rank rank(const Question& question) const override {
    const ConvOp& conv = *question.problem.conv();
    const bool small = conv.conv.groups > 1 && conv.weights.lens[1] < kFewestInputs;
    return small && !tiles_pay(question) ? Rank::behind : Rank::listed;
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::matrix_configs(question.problem, question.chain));
  }

  std::string first_config(const Question& question) const override {
    return to_text(cpu::matrix_configs(question.problem, question.chain).front());
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_matrix_config, id(), config);
    return {"cpu_matrix", cpu::matrix_recipe(question.problem, question.chain, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "bf16:1x64x14x14:nhwc;conv(bf16:64x64x3x3,pad=1x1);norm(spatial,f32:1x64x1x1);"
        "activation(relu)",
        "bf16:2x96x9x13:nhwc;conv(bf16:88x96x1x1);bias(f32:1x88x1x1);add(bf16:2x88x9x13:nhwc);"
        "activation(relu)",
        "bf16:1x35x15x17:nhwc;conv(bf16:50x35x3x3:nhwc,pad=1x1,stride=2x2);bias(f32:1x50x1x1);"
        "activation(gelu_erf)",
        "bf16:1x3x33x33:nhwc;conv(bf16:64x3x7x7,pad=3x3,stride=2x2);norm(spatial,f32:1x64x1x1);"
        "activation(relu)",
        "bf16:1x40x13x13:nchw;conv(bf16:72x40x3x3,pad=2x2,dilation=2x2);norm(spatial,f32:"
        "1x72x1x1);activation(tanh)",
        "bf16:1x18x12x17:nchw;conv(bf16:33x18x5x3,pad=2x0,pad_hi=1x2);scale_shift(f32:1x33x1x1)",
        "bf16:1x64x9x9:nhwc;conv(bf16:96x32x3x3,pad=1x1,groups=2);activation(silu)",
        "bf16:1x8x5x9x9:nchw;conv(bf16:20x8x3x3x3,pad=1x1x1);bias(f32:1x20x1x1x1);activation(mish)",
        "f32:1x96x14x14:nhwc;conv(f32:136x96x3x3,pad=1x1,stride=2x2);bias(f32:1x136x1x1);norm("
        "spatial,f32:1x136x1x1);activation(gelu_tanh)",
        "f32:1x200x15x17:nchw;conv(f32:88x200x1x1);norm(spatial,f32:1x88x1x1);add(f32:1x88x15x17);"
        "activation(relu)",
        "f16:2x80x12x17:nchw;conv(f16:72x80x1x1);bias(f32:1x72x1x1);activation(elu)",
        "u8:1x64x14x14:nhwc;conv(i8:64x64x3x3,pad=1x1);scale_shift(f32:1x64x1x1);activation(relu)"
        "->u8:1x64x14x14:nhwc",
        "u8:2x48x15x13:nhwc;conv(i8:88x48x1x1);scale_shift(f32:1x88x1x1);add(u8:2x88x15x13:nhwc);"
        "activation(relu)->u8:2x88x15x13:nhwc",
        "i8:1x20x14x14:nchw;conv(i8:30x20x1x1,stride=2x2);bias(f32:1x30x1x1)->i8:1x30x7x7:nchw",
        "bf16:1x96x14x13:nhwc;conv(bf16:96x8x3x3,pad=1x1,groups=12);bias(f32:1x96x1x1);"
        "activation(relu)",
        "u8:1x96x14x13:nhwc;conv(i8:96x6x3x3,pad=1x1,groups=16);scale_shift(f32:1x96x1x1);"
        "activation(relu)->u8:1x96x14x13:nhwc",
    };
  }
};

}  // namespace

const Solver& solver_cpu_matrix() {
  static const CpuMatrix solver;
  return solver;
}

}  // namespace fuseplan
