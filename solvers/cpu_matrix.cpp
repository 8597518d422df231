// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/recipe.hpp"
#include "solvers/cpu_conditions.hpp"

namespace fuseplan {
namespace {

class CpuMatrix final : public Solver {
 public:
  std::string_view id() const override { return "cpu_matrix"; }
  std::string_view sentence() const override {
    return "convolution in AMX tiles, bf16 or 8-bit integers, with any chain of pointwise ops";
  }
  std::string_view backend() const override { return "cpu"; }
  int algorithm() const override { return 1; }

  void accepts(const Question& question, Verdict& verdict) const override {
    const DType input = question.problem.input().dtype;
    const cpu::Extensions& has = question.traits.extensions;
    need_convolution(question, verdict, true, !is_byte(input));
    verdict.need(input == DType::bf16 || is_byte(input), RejectCode::DataType, "input",
                 name_of(input), "bf16, i8 or u8");
    const bool tiles = is_byte(input) ? has.tiles_int8 : has.tiles_bf16;
    verdict.need(tiles, RejectCode::Device, "instruction set", question.traits.to_text(),
                 is_byte(input) ? "AMX with amx_int8" : "AMX with amx_bf16",
                 "run on a CPU that has it, and whose system grants its tiles");
    if (!verdict.accepted()) return;
    need_layout(verdict, cpu::matrix_refusal(question.problem, question.chain));
  }

  std::vector<std::string> configs(const Question& question) const override {
    return texts_of(cpu::matrix_configs(question.problem, question.chain));
  }

  Kernel build(const Question& question, std::string_view config) const override {
    const auto parsed = config_of(cpu::parse_matrix_config, id(), config);
    return {"cpu_matrix", cpu::matrix_recipe(question.problem, question.chain, parsed)};
  }

  std::vector<std::string> samples() const override {
    return {
        "bf16:1x64x14x14:nhwc;conv(bf16:64x64x3x3,pad=1x1);norm(spatial,f32:1x64x1x1);"
        "activation(relu)",
    };
  }
};

}  // namespace

const Solver& solver_cpu_matrix() {
  static const CpuMatrix solver;
  return solver;
}

}  // namespace fuseplan
