// SPDX-License-Identifier: MIT
// Images whose pixels follow one another in scratch: tiles, strips and blocks end in the middle of
// any of them.
#include <gtest/gtest.h>

#include "base/denormals.hpp"
#include "base/status.hpp"
#include "guarded_run.hpp"
#include "isa_strides.hpp"
#include "kernels/cpu/conv1x1/pack_weights.hpp"
#include "kernels/cpu/conv1x1/recipe.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::test {
namespace {

class Conv1x1Windows : public ::testing::TestWithParam<IsaStrides> {
 protected:
  struct Case {
    ConvCase shape;
    std::int64_t images;
  };

  static Conv unit_conv(std::size_t axes, std::int64_t stride) {
    Conv conv;
    conv.pad_lo.assign(axes, 0);
    conv.pad_hi = conv.pad_lo;
    conv.stride.assign(axes, stride);
    conv.dilation.assign(axes, 1);
    conv.groups = 1;
    return conv;
  }
  Problem problem(const ConvCase& shape, DType type, Tail tail) {
    return conv_problem(shape, {type, type, GetParam().strides}, tail, random_);
  }
  static cpu::Isa isa() { return GetParam().isa; }
  /// By channel and by pixel, in blocks of a whole window and of a part.
  static std::vector<cpu::Conv1x1Config> configs(std::int64_t images, std::int64_t pixels) {
    const bool wide = isa() == cpu::Isa::avx512;
    std::vector<cpu::Conv1x1Config> configs;
    for (const bool by_channel : {true, false})
      for (const std::int64_t block : {images * pixels, std::int64_t{20}})
        configs.push_back({by_channel, wide ? 7 : 4, wide ? 2 : 3, block, true, images});
    return configs;
  }

  Random random_{43};
};
INSTANTIATE_TEST_SUITE_P(All, Conv1x1Windows,
                         ::testing::ValuesIn(on_vector_isas({Strides::channels_first,
                                                             Strides::channels_last,
                                                             Strides::padded, Strides::permuted})),
                         name_of_param);

TEST_P(Conv1x1Windows, AreRight) {
  const Case cases[] = {
      {{{6, 33, 5, 5}, {35, 33, 1, 1}, unit_conv(2, 1)}, 2},
      {{{6, 33, 5, 5}, {35, 33, 1, 1}, unit_conv(2, 1)}, 6},
      {{{4, 20, 7, 7}, {70, 20, 1, 1}, unit_conv(2, 1)}, 4},
      {{{4, 24, 13, 9}, {40, 24, 1, 1}, unit_conv(2, 2)}, 2},
      {{{9, 17, 1, 3}, {18, 17, 1, 1}, unit_conv(2, 1)}, 3},
      {{{2, 9, 3, 2, 5}, {38, 9, 1, 1, 1}, unit_conv(3, 1)}, 2},
      {{{3, 260, 4, 3}, {230, 260, 1, 1}, unit_conv(2, 1)}, 3},
  };
  int run = 0, in_passing = 0;
  for (const Case& row : cases)
    for (const DType type : {DType::f32, DType::f16})
      for (const Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
        const Problem problem = this->problem(row.shape, type, tail);
        const KernelCase test(problem, random_);
        if (cpu::conv1x1_refusal(problem, test.chain(), isa())) continue;
        const cpu::Conv1x1Shape shape = cpu::conv1x1_shape(problem, test.chain(), isa());
        if (shape.images() % row.images != 0) continue;  // NHWC, merged to one already
        const FlushDenormals flush;
        for (const cpu::Conv1x1Config& config : configs(row.images, shape.pixels())) {
          if (!config.by_channel && shape.lanes_are_channels) continue;
          if (packs_in_passing(conv1x1_plan(shape, test.chain(), config))) ++in_passing;
          const auto recipe = cpu::conv1x1_recipe(problem, test.chain(), isa(), config);
          for (const int threads : {1, 2, 7})
            EXPECT_TRUE(test.check(test.run(*recipe, threads))) << to_text(config);
          ++run;
        }
      }
  EXPECT_GT(run, 8);
  if (GetParam().strides == Strides::channels_first) {
    EXPECT_GT(run, 100);
    EXPECT_GT(in_passing, 20);
  }
}

TEST_P(Conv1x1Windows, DivideTheBatchAndAreStaged) {
  const Problem problem =
      this->problem({{6, 33, 5, 5}, {35, 33, 1, 1}, unit_conv(2, 1)}, DType::f32, Tail::none);
  const KernelCase test(problem, random_);
  const cpu::Conv1x1Config of_four{true, 4, 2, 100, true, 4}, of_none{true, 4, 2, 100, true, 0},
      in_place{true, 4, 2, 50, false, 2};
  for (const cpu::Conv1x1Config& config : {of_four, of_none, in_place})
    EXPECT_THROW(conv1x1_recipe(problem, test.chain(), isa(), config), Error) << to_text(config);
}

}  // namespace
}  // namespace fuseplan::test
