// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "guarded_run.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

TEST(WinogradBounds, NothingOutsideTheTensorsIsTouched) {
  if (cpu::host_isa() != cpu::Isa::avx512) GTEST_SKIP() << "written for AVX-512 only";
  const ConvCase cases[] = {
      {{2, 16, 6, 9}, {19, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 33, 7, 7}, {35, 33, 3, 3}, {{2, 0}, {0, 2}, {1, 1}, {1, 1}, 1}},
      {{1, 21, 3, 17}, {64, 21, 3, 3}, {{0, 1}, {1, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 17, 5, 150}, {1, 17, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 20, 1, 1}, {18, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
  };
  Random random(43);
  for (const ConvCase& shape : cases)
    for (Strides strides : {Strides::channels_first, Strides::channels_last})
      for (End end : {End::front, End::back}) {
        const Problem problem =
            conv_problem(shape, {DType::f32, DType::f32, strides}, Tail::everything, random);
        const SplitChain chain = optimize(lower(problem), {});
        ASSERT_FALSE(cpu::winograd_refusal(problem, chain));
        const auto config = cpu::winograd_configs(problem).front();
        run_guarded(problem, chain, *cpu::winograd_recipe(problem, chain, config), end);
      }
}

}  // namespace
}  // namespace fuseplan::test
