// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

// Each piece and tile of channels has a kernel of its size, and no kernel is generated that none
// calls. Pieces of one size and of two, a last tile of channels that is narrower, dilation.
TEST(WinogradPlan, HasTheProductKernelsThatPiecesCall) {
  std::set<std::size_t> counts;
  for (const char* text :
       {"f32:1x32x28x28:nhwc;conv(f32:64x32x3x3,pad=1x1)",
        "f32:1x32x14x19:nhwc;conv(f32:48x32x3x3,pad=1x1)",
        "f32:3x32x7x7;conv(f32:80x32x3x3,pad=1x1)", "f32:1x32x1x1:nhwc;conv(f32:16x32x3x3,pad=1x1)",
        "f32:2x32x24x31:nhwc;conv(f32:40x32x3x3,pad=2x2,dilation=2x2)",
        "f32:1x32x23x17:nhwc;conv(f32:96x32x3x3,pad=1x1,stride=2x2)"})
    for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512}) {
      const Problem problem = parse_problem(text);
      const SplitChain chain = optimize(lower(problem), {});
      for (const cpu::WinogradConfig& config : cpu::winograd_configs(problem, isa)) {
        const auto plan = cpu::winograd_plan(cpu::direct_shape(problem, chain), isa, config);
        SCOPED_TRACE(fmt::format("{} {} {}x{},{}x{}", text, name_of(isa), config.rows,
                                 config.columns, config.pixels, config.vectors));
        const std::vector<cpu::TileSpec> specs = plan.specs();
        std::set<std::size_t> called;
        for (std::int64_t piece = 0; piece < plan.pieces; ++piece)
          for (std::int64_t tile = 0; tile < plan.channel_tiles; ++tile) {
            const Range range = plan.piece(piece);
            const std::size_t kernel = plan.kernel_of(range.last - range.first, tile);
            ASSERT_LT(kernel, specs.size());
            ASSERT_EQ(specs[kernel].pixels, range.last - range.first);
            ASSERT_EQ(specs[kernel].vectors, plan.vectors_of(tile));
            called.insert(kernel);
          }
        ASSERT_EQ(called.size(), specs.size());
        counts.insert(called.size());
      }
    }
  EXPECT_EQ(counts, (std::set<std::size_t>{1, 2, 4}));
}

}  // namespace
}  // namespace fuseplan::test
