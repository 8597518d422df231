// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/recipe.hpp"

#include "expr/norm_stages.hpp"
#include "kernels/cpu/portable/byte_conv.hpp"
#include "kernels/cpu/portable/conv.hpp"
#include "kernels/cpu/portable/norm.hpp"
#include "kernels/cpu/portable/pointwise.hpp"

namespace fuseplan::cpu {
namespace {

class PortableRecipe final : public Recipe {
 public:
  PortableRecipe(const Problem& problem, const SplitChain& chain)
      : problem_(problem), chain_(chain) {}

  std::vector<Function> emit() const override { return {}; }

  std::unique_ptr<Program> bind(std::span<const void* const>) const override {
    if (norm_stages(problem_, chain_)) return portable_norm(problem_, chain_);
    if (problem_.conv() == nullptr) return portable_pointwise(problem_, chain_);
    if (is_byte(problem_.input().dtype)) return portable_byte_conv(problem_, chain_);
    return portable_conv(problem_, chain_);
  }

 private:
  Problem problem_;
  SplitChain chain_;
};

}  // namespace

std::shared_ptr<const Recipe> portable_recipe(const Problem& problem, const SplitChain& chain) {
  return std::make_shared<PortableRecipe>(problem, chain);
}

}  // namespace fuseplan::cpu
