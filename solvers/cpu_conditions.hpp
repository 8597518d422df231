// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "kernels/cpu/geometry.hpp"
#include "solve/solver.hpp"

namespace fuseplan {

// Conditions that several CPU solvers state, and what their configurations have in common.

inline void need_vector_isa(const Question& question, Verdict& verdict) {
  verdict.need(question.traits.isa != cpu::Isa::portable, RejectCode::Device, "instruction set",
               cpu::name_of(question.traits.isa), "avx2 or avx512",
               "raise the max_isa option, or run on a CPU that has it");
}

/// Data in f32, f16 or bf16 throughout; parameters are in any plan.
inline void need_real_data(const Question& question, Verdict& verdict) {
  const auto need = [&](const Tensor& tensor, const char* what, int op) {
    verdict.need(is_real(tensor.dtype), RejectCode::DataType, what, name_of(tensor.dtype),
                 "f32, f16 or bf16", {}, op);
  };
  need(question.problem.input(), "input", -1);
  need(question.problem.output(), "output", -1);
  for (const Operand& element : question.chain.elements)
    need(element.tensor, "added tensor", element.op);
}

/// Which tensors must be f32, f16 or bf16: all, the convolution's factors, of which weights then
/// are what the input is (what the chain reads and stores may be 8-bit integers), or none.
enum class RealData : std::uint8_t { all, factors, none };

/// No op that takes sums over the whole batch.
inline void need_one_pass(const Question& question, Verdict& verdict) {
  for (std::size_t i = 0; i < question.problem.ops().size(); ++i) {
    const OpBody& body = question.problem.ops()[i].body;
    verdict.need(!is_batch_op(body), RejectCode::Sequence, "op", kind_of(body),
                 "ops that take no sums over the batch", {}, static_cast<int>(i));
  }
}

/// A convolution kernel takes real data unless it says otherwise.
inline void need_convolution(const Question& question, Verdict& verdict, bool present,
                             RealData real = RealData::all) {
  if (real == RealData::all) need_real_data(question, verdict);
  const DType input = question.problem.input().dtype;
  verdict.need(real != RealData::factors || is_real(input), RejectCode::DataType, "input",
               name_of(input), "f32, f16 or bf16");
  need_one_pass(question, verdict);
  const bool has = question.problem.conv() != nullptr;
  verdict.need(has == present, RejectCode::Sequence, "first op",
               kind_of(question.problem.ops().front().body), present ? "conv" : "any op but conv");
}

/// Kernels that sum in f32 take 8-bit integers as long as no sum, nor any part of it, is rounded.
inline void need_exact_sums(const Question& question, Verdict& verdict) {
  const DType input = question.problem.input().dtype;
  if (!is_byte(input)) return;
  constexpr std::int64_t kIntegers = 1 << 24;  // up to which f32 has them all
  const std::int64_t largest = 128 * (input == DType::u8 ? 255 : 128);
  const std::int64_t products = cpu::most_products(cpu::geometry_of(question.problem));
  verdict.need(products <= kIntegers / largest, RejectCode::Size, "products of a sum",
               std::to_string(products),
               std::to_string(kIntegers / largest) + " at most, whose sums are exact in f32", {},
               0);
}

/// The direct kernel multiplies pairs of bf16, faster than others their f32.
inline bool has_fast_pairs(const Question& question) {
  return question.traits.extensions.fast_bf16 && question.problem.input().dtype == DType::bf16 &&
         question.problem.conv()->weights.dtype == DType::bf16;
}
/// By how much, which kernels of f32 products have to make good.
inline double pairs_speedup(const Question& question) {
  constexpr double kSpeedup = 1.9;
  return has_fast_pairs(question) ? kSpeedup : 1;
}

inline cpu::Target target_of(const Question& question) {
  return {question.traits.isa, question.traits.extensions};
}

inline const cpu::CoreRates& rates_of(const Question& question) {
  return cpu::core_rates(question.traits.family, question.traits.isa);
}

/// What Solver::configs answers for a family's configurations.
template <typename Config>
std::vector<std::string> texts_of(const std::vector<Config>& configs) {
  std::vector<std::string> texts;
  for (const Config& config : configs) texts.push_back(to_text(config));
  return texts;
}

/// What Solver::offers answers for them: a parser takes nothing but what to_text writes.
template <typename Config>
bool is_among(const std::vector<Config>& configs, std::optional<Config> (*parse)(std::string_view),
              std::string_view text) {
  const std::optional<Config> config = parse(text);
  return config && std::ranges::find(configs, *config) != configs.end();
}

/// The configuration that `text` was written from, by the family's own parser.
template <typename Config>
Config config_of(std::optional<Config> (*parse)(std::string_view), std::string_view solver,
                 std::string_view text) {
  const std::optional<Config> config = parse(text);
  require(config.has_value(), Status::InvalidValue, "{}: \"{}\" is no configuration", solver, text);
  return *config;
}

/// A kernel family's own last word: nothing, or a sentence about the layout it cannot take.
inline void need_layout(Verdict& verdict, const std::optional<std::string>& refusal) {
  verdict.need(!refusal, RejectCode::Layout, "layout", refusal ? std::string_view(*refusal) : "",
               "contiguous channels (NHWC) or contiguous rows (NCHW)",
               "use one layout for input and output");
}

}  // namespace fuseplan
