// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/recipe.hpp"

#include "kernels/cpu/portable/conv.hpp"
#include "kernels/cpu/portable/pointwise.hpp"

namespace fuseplan::cpu {
namespace {

class PortableRecipe final : public Recipe {
 public:
  PortableRecipe(const Problem& problem, const SplitChain& chain)
      : problem_(problem), chain_(chain) {}

  std::vector<Function> emit() const override { return {}; }

  std::unique_ptr<Program> bind(std::span<const void* const>) const override {
    return problem_.conv() != nullptr ? portable_conv(problem_, chain_)
                                      : portable_pointwise(problem_, chain_);
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
