// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/recipe.hpp"

#include <fmt/format.h>

#include "base/status.hpp"

#include "kernels/cpu/emit/channel_prologue.hpp"
#include "kernels/cpu/pointwise/pointwise_program.hpp"

namespace fuseplan::cpu {

namespace {

Walk walk_of(const Problem& problem, const SplitChain& chain) {
  std::string reason;
  auto walk = plan_walk(problem, chain, &reason);
  require(walk.has_value(), Status::InternalError, "no pointwise kernel: {}", reason);
  return *std::move(walk);
}

class PointwiseRecipe final : public Recipe {
 public:
  PointwiseRecipe(Walk walk, const SplitChain& chain, Isa isa, const PointwiseConfig& config)
      : walk_(std::move(walk)), chain_(chain), isa_(isa), config_(config) {}

  std::vector<Function> emit() const override {
    RowsSpec spec{.isa = isa_,
                  .body = chain_.body,
                  .input = walk_.dtypes[Walk::kInput],
                  .output = walk_.dtypes[Walk::kOutput],
                  .input_lane_stride = walk_.lane_stride(Walk::kInput),
                  .lanes_are_channels = walk_.lanes_are_channels,
                  .elements = walk_.elements(chain_.elements.size()),
                  .touching = walk_.touching};
    std::vector<Function> functions{{"pointwise_rows", emit_rows(spec)}};
    if (has_prologue())
      functions.push_back(
          {"pointwise_channels", emit_channel_prologue(chain_, isa_, walk_.channels)});
    if (config_.past_caches) {
      spec.streaming = true;
      functions.push_back({"pointwise_rows_streaming", emit_rows(spec)});
    }
    return functions;
  }

  std::unique_ptr<Program> bind(std::span<const void* const> entries) const override {
    const auto rows = [&](std::size_t entry) {
      return kernel_at<PointwiseProgram::Rows>(entries[entry]);
    };
    return std::make_unique<PointwiseProgram>(
        walk_, chain_, config_, rows(0), config_.past_caches ? rows(entries.size() - 1) : nullptr,
        has_prologue() ? entries[1] : nullptr);
  }

 private:
  bool has_prologue() const { return !chain_.channels.roots.empty(); }

  Walk walk_;
  SplitChain chain_;
  Isa isa_;
  PointwiseConfig config_;
};

}  // namespace

std::optional<std::string> pointwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa) {
  if (isa == Isa::portable) return "pointwise vector code needs avx2 or avx512";
  if (problem.conv() != nullptr) return "the plan has a convolution";
  for (const DType dtype : {problem.input().dtype, problem.output().dtype})
    if (!is_storage(dtype)) return fmt::format("{} is nothing that vectors hold", name_of(dtype));
  std::string reason;
  if (!plan_walk(problem, chain, &reason)) return reason;
  return std::nullopt;
}

std::vector<PointwiseConfig> pointwise_configs(const Problem& problem, const SplitChain& chain,
                                               const CoreRates& rates) {
  return pointwise_configs(walk_of(problem, chain), chain.keeps_output(), rates);
}

std::shared_ptr<const Recipe> pointwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa, const PointwiseConfig& config) {
  return std::make_shared<PointwiseRecipe>(walk_of(problem, chain), chain, isa, config);
}

}  // namespace fuseplan::cpu
