// SPDX-License-Identifier: MIT
// Which rows depthwise tiles ask the caches for: no result shows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "expr/passes.hpp"
#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/grouped/recipe.hpp"

namespace fuseplan::test {
namespace {

using Xbyak::util::rsi;

/// The kernel of 3x3 taps, one channel a group, over planes of 56 columns, in tiles of 6 rows.
std::vector<std::byte> kernel_of(int channels, int rows, const std::string& dtype = "f32") {
  const auto groups = std::to_string(channels);
  const Problem problem =
      parse_problem(dtype + ":1x" + groups + "x" + std::to_string(rows) + "x56:nchw;conv(" + dtype +
                    ":" + groups + "x1x3x3,pad=1x1,groups=" + groups + ")");
  const SplitChain chain = optimize(lower(problem), {});
  const auto recipe = cpu::grouped_recipe(problem, chain, cpu::Isa::avx512, {6, 4});
  return recipe->emit().front().code;
}

/// Whether it asks for six rows from input row `first` of a tile on, one after another.
bool asks(const std::vector<std::byte>& kernel, int first, bool first_level, int element = 4) {
  Xbyak::CodeGenerator spelled;
  const int row_bytes = 56 * element;
  for (int row = first; row < first + 6; ++row)
    for (int at = 0; at < row_bytes; at += 64) {
      const auto line = spelled.ptr[rsi + row * row_bytes + at];
      first_level ? spelled.prefetcht0(line) : spelled.prefetcht1(line);
    }
  const auto* bytes = reinterpret_cast<const std::byte*>(spelled.getCode());
  return std::search(kernel.begin(), kernel.end(), bytes, bytes + spelled.getSize()) !=
         kernel.end();
}

// A tile of 6 rows reads input rows 0 to 7, and the next one below it 8 to 13 besides.
constexpr int kBelow = 8;

TEST(GroupedExpect, RowsOfTheTileBelow) {
  EXPECT_TRUE(asks(kernel_of(8, 56), kBelow, true));
  EXPECT_TRUE(asks(kernel_of(200, 56), kBelow, true)) << "2.5 MB are near";
  EXPECT_TRUE(asks(kernel_of(1200, 28), kBelow, true)) << "planes of 6 KB are small";
}

// 8 KB are 37 rows of 224 bytes, or 74 of 112.
TEST(GroupedExpect, RowsFurtherOnInLargePlanesOfFarInput) {
  EXPECT_TRUE(asks(kernel_of(300, 56), kBelow + 37, false));
  EXPECT_FALSE(asks(kernel_of(300, 56), kBelow, true));
  EXPECT_TRUE(asks(kernel_of(300, 112, "bf16"), kBelow + 74, false, 2));
}

}  // namespace
}  // namespace fuseplan::test
