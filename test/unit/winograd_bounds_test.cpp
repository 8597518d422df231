// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

TEST(WinogradBounds, NothingOutsideTheTensorsIsTouched) {
  const ConvCase cases[] = {
      {{2, 16, 6, 9}, {19, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 7, 7}, {35, 33, 3, 3}, {{2, 0}, {0, 2}, {1, 1}, {1, 1}, 1}},
      {{1, 21, 3, 17}, {64, 21, 3, 3}, {{0, 1}, {1, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 17, 5, 150}, {1, 17, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 20, 1, 1}, {18, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 32, 5, 7}, {16, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 17, 7, 8}, {19, 17, 3, 3}, {{1, 0}, {0, 1}, {2, 2}, {1, 1}, 1}},
      {{1, 16, 6, 33}, {18, 16, 3, 3}, {{0, 0}, {1, 0}, {2, 2}, {1, 1}, 1}},
      {{1, 16, 2, 14}, {16, 16, 3, 3}, {{0, 0}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 17, 7, 9}, {19, 17, 3, 3}, {{2, 3}, {2, 3}, {1, 1}, {2, 3}, 1}},
      {{1, 16, 11, 25}, {18, 16, 3, 3}, {{0, 0}, {4, 0}, {1, 1}, {4, 6}, 1}},
  };
  Random random(43);
  for (const cpu::Isa isa : vector_isas())
    for (const ConvCase& shape : cases)
      for (const DType type : {DType::f32, DType::f16, DType::bf16})
        for (Strides strides : {Strides::channels_first, Strides::channels_last})
          for (End end : {End::front, End::back}) {
            const Problem problem =
                conv_problem(shape, {type, type, strides}, Tail::everything, random);
            const SplitChain chain = optimize(lower(problem), {});
            ASSERT_FALSE(cpu::winograd_refusal(problem, chain, isa));
            for (const cpu::WinogradConfig& config : cpu::winograd_configs(problem, isa))
              run_guarded(problem, chain, *cpu::winograd_recipe(problem, chain, isa, config), end);
          }
}

}  // namespace
}  // namespace fuseplan::test
