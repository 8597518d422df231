// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/direct/recipe.hpp"

namespace fuseplan::test {
namespace {

void run_direct(const Problem& problem, const cpu::Target& target, End end) {
  const SplitChain chain = optimize(lower(problem), {});
  ASSERT_EQ(direct_refusal(problem, chain, target), std::nullopt);
  for (const cpu::DirectConfig& config : direct_configs(problem, target))
    run_guarded(problem, chain, *direct_recipe(problem, chain, target, config), end);
}

TEST(DirectBounds, NothingOutsideTheTensorsIsTouched) {
  const ConvCase cases[] = {
      {{2, 5, 6, 9}, {19, 5, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 7, 7}, {35, 33, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 9, 9}, {17, 33, 1, 1}, {{0, 0}, {0, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 12, 8, 21}, {36, 1, 5, 3}, {{2, 4}, {3, 1}, {2, 1}, {1, 2}, 12}},
      {{1, 3, 1, 500}, {4, 3, 1, 300}, {{0, 20}, {0, 9}, {1, 1}, {1, 1}, 1}},
      {{1, 14, 5, 9}, {32, 7, 3, 3}, {{1, 1}, {1, 1}, {1, 2}, {1, 1}, 2}},
      {{2, 31, 5, 7}, {48, 31, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 3, 4, 5, 6}, {7, 3, 3, 2, 3}, {{1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}, 1}},
  };
  Random random(31);
  for (const ConvCase& shape : cases)
    for (DType type : {DType::f32, DType::f16, DType::bf16})
      for (Strides strides : {Strides::channels_first, Strides::channels_last})
        for (const cpu::Target& target : vector_targets())
          for (Tail tail : {Tail::everything, Tail::residual})
            for (End end : {End::front, End::back})
              run_direct(conv_problem(shape, {type, type, strides}, tail, random), target, end);
}

}  // namespace
}  // namespace fuseplan::test
