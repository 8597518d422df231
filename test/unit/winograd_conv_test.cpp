// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "emit_kernel.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr Tail kAllTails[] = {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything};

class WinogradConv : public ::testing::TestWithParam<Strides> {
 protected:
  void SetUp() override {
    if (cpu::host_isa() != cpu::Isa::avx512) GTEST_SKIP() << "written for AVX-512 only";
  }

  Problem problem(const ConvCase& shape, Tail tail) {
    return conv_problem(shape, {DType::f32, DType::f32, GetParam()}, tail, random_);
  }

  /// Checks the kernels with `config`, or the default.
  void run(const Problem& problem, const cpu::WinogradConfig* config = nullptr) {
    const KernelCase test(problem, random_);
    ASSERT_FALSE(cpu::winograd_refusal(problem, test.chain())) << to_text(problem);
    const cpu::WinogradConfig chosen =
        config != nullptr ? *config : cpu::winograd_configs(problem).front();
    const FlushDenormals flush;
    EXPECT_TRUE(test.check(test.run(*cpu::winograd_recipe(problem, test.chain(), chosen))))
        << to_text(chosen);
  }

  Random random_{41};
};
INSTANTIATE_TEST_SUITE_P(All, WinogradConv,
                         ::testing::Values(Strides::channels_first, Strides::channels_last,
                                           Strides::padded),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Every height and width from the least to several tiles, neither channels in whole vectors.
TEST_P(WinogradConv, EverySize) {
  int number = 0;
  for (std::int64_t size = 1; size <= 31; ++size) {
    const std::int64_t other = 3 + size * 7 % 29;
    const Tail tail = kAllTails[number++ % 4];
    run(problem({{1, 16, size, other}, {17, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}}, tail));
    run(problem({{2, 21, other, size}, {50, 21, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}}, tail));
  }
}

TEST_P(WinogradConv, EveryPadding) {
  for (std::int64_t top = 0; top <= 2; ++top)
    for (std::int64_t left = 0; left <= 2; ++left)
      for (std::int64_t bottom = 0; bottom <= 2; ++bottom) {
        const std::int64_t right = (top + left + bottom) % 3;
        run(problem(
            {{1, 19, 9, 18}, {34, 19, 3, 3}, {{top, left}, {bottom, right}, {1, 1}, {1, 1}, 1}},
            Tail::bias_norm_relu));
        run(problem(
            {{1, 32, 4, 3}, {16, 32, 3, 3}, {{top, left}, {bottom, right}, {1, 1}, {1, 1}, 1}},
            Tail::everything));
      }
}

// Few and many channels on either side, rows wider than a segment, all chains.
TEST_P(WinogradConv, ChannelsAndChains) {
  const ConvCase cases[] = {
      {{1, 16, 12, 12}, {1, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{3, 17, 7, 7}, {64, 17, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 256, 10, 11}, {33, 256, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{5, 48, 6, 5}, {96, 48, 3, 3}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1}},
      {{1, 20, 5, 150}, {40, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases)
    for (Tail tail : kAllTails) run(problem(shape, tail));
}

TEST_P(WinogradConv, Configurations) {
  const ConvCase shape{{3, 35, 17, 37}, {70, 35, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}};
  for (std::int64_t tiles : {1, 14, 28, 42, 1000}) {
    const cpu::WinogradConfig config{tiles};
    run(problem(shape, Tail::add_gelu), &config);
  }
}

TEST_P(WinogradConv, SameBitsForAnyThreadCount) {
  const ConvCase cases[] = {
      {{3, 40, 31, 33}, {70, 40, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{1, 64, 7, 8}, {200, 64, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
  };
  for (const ConvCase& shape : cases) {
    const Problem problem = this->problem(shape, Tail::everything);
    const KernelCase test(problem, random_);
    for (const cpu::WinogradConfig& config : cpu::winograd_configs(problem)) {
      const auto recipe = cpu::winograd_recipe(problem, test.chain(), config);
      const std::vector<double> one = test.run(*recipe, 1).values();
      for (int threads : {2, 3, 7}) EXPECT_EQ(one, test.run(*recipe, threads).values());
    }
  }
}

}  // namespace
}  // namespace fuseplan::test
