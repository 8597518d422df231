// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/status.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/emit/rows.hpp"
#include "kernels/cpu/int8/launch.hpp"
#include "kernels/cpu/int8/plan.hpp"
#include "kernels/cpu/int8/tile_emitter.hpp"
#include "kernels/cpu/int8/tuning.hpp"

namespace fuseplan::cpu {
namespace {

class ByteRecipe final : public Recipe {
 public:
  ByteRecipe(BytePlan plan, const SplitChain& chain) : plan_(std::move(plan)), chain_(chain) {}

  std::vector<Function> emit() const override {
    std::vector<Function> functions;
    for (const ByteTileSpec& spec : plan_.specs())
      functions.push_back({fmt::format("int8_tile_{}x{}_{}", spec.pixels, spec.vectors,
                                       spec.finished ? "finished" : "sums"),
                           emit_byte_tile(spec, plan_.finish)});
    if (!plan_.finished)
      functions.push_back({"int8_rows", emit_rows(rows_spec(plan_.shape.tensors(), chain_,
                                                            plan_.isa, DType::i32))});
    if (!chain_.channels.roots.empty())
      functions.push_back({"int8_channels", emit_channel_prologue(chain_, plan_.isa,
                                                                  plan_.shape.conv.output.len[1])});
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    return byte_program(plan_, chain_, entries);
  }

 private:
  BytePlan plan_;
  SplitChain chain_;
};

// Steps within a tile are displacements of 32 bits.
bool is_addressable(const ByteTileSpec& spec) {
  constexpr double kReach = std::numeric_limits<std::int32_t>::max();
  const double most = static_cast<double>(std::max(spec.input.row, spec.input.column));
  return most * spec.pixels + 64.0 * 1024 < kReach;
}

}  // namespace

std::optional<std::string> byte_refusal(const Problem& problem, const SplitChain& chain, Isa isa,
                                        DotKind dot) {
  if (problem.conv() == nullptr) return "the plan has no convolution";
  if (isa == Isa::portable) return "int8 kernels are written for AVX2 and AVX-512 only";
  const DirectShape shape = direct_shape(problem, chain);
  if (auto refusal = lane_refusal(shape.tensors())) return refusal;
  const BytePlan plan = byte_plan(shape, chain, isa, dot, byte_tuning_space(shape, isa, dot)[0]);
  if (!std::ranges::all_of(plan.variants, is_addressable))
    return "a tile's input reaches further than the 2 GiB of an instruction's displacement";
  return std::nullopt;
}

std::vector<ByteConfig> byte_configs(const Problem& problem, Isa isa, DotKind dot) {
  return byte_tuning_space(direct_shape(problem, {}), isa, dot);
}

std::shared_ptr<const Recipe> byte_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          DotKind dot, const ByteConfig& config) {
  require(byte_tile_fits(isa, dot, config.pixels, config.vectors), Status::BadParm,
          "an int8 tile of {}x{} does not fit the registers of {}", config.pixels, config.vectors,
          name_of(isa));
  return std::make_shared<ByteRecipe>(
      byte_plan(direct_shape(problem, chain), chain, isa, dot, config), chain);
}

}  // namespace fuseplan::cpu
