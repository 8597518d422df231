// SPDX-License-Identifier: MIT
#include "kernel_case.hpp"
#include "kernels/cpu/portable/recipe.hpp"

namespace fuseplan::test {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

const fuseplan::Dims kShapes[] = {{1, 1},         {5, 300},        {3, 7, 11},       {2, 3, 5, 7},
                                  {1, 64, 1, 1},  {4, 1, 33, 9},   {1, 17, 31, 29},  {2, 300, 3, 3},
                                  {1, 3, 1, 700}, {2, 5, 3, 4, 9}, {1, 2, 1, 1, 513}};

class PortablePointwise : public ::testing::TestWithParam<std::tuple<Strides, Strides>> {};
INSTANTIATE_TEST_SUITE_P(
    InputAndOutput, PortablePointwise,
    ::testing::Combine(::testing::Values(Strides::channels_first, Strides::channels_last,
                                         Strides::padded, Strides::permuted),
                       ::testing::Values(Strides::channels_first, Strides::channels_last,
                                         Strides::permuted)),
    [](const auto& info) {
      return std::string(name_of(std::get<0>(info.param))) + "_to_" +
             name_of(std::get<1>(info.param));
    });

TEST_P(PortablePointwise, ShapesAndTypes) {
  const auto [from, to] = GetParam();
  Random random(21);
  int number = 0;
  for (const fuseplan::Dims& lens : kShapes)
    for (Tail tail : {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything}) {
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      ++number;
      std::vector<Op> ops = tail_ops(tail, lens, out, to, random);
      if (ops.empty()) ops.push_back({ActivationOp{fuseplan::Activation::PASTHRU}, {}});
      const Problem problem(make_tensor(in, lens, from, random), ops,
                            make_tensor(out, lens, to, random));
      const KernelCase test(problem, random);
      const auto recipe = cpu::portable_recipe(problem, test.chain());
      const HostTensor output = test.run(*recipe);
      EXPECT_TRUE(test.check(output));
      EXPECT_EQ(output.values(), test.run(*recipe, 3).values());
    }
}

TEST(PortablePointwise, EveryActivation) {
  Random random(22);
  for (const ActivationInfo& info : all_activations()) {
    const Tensor tensor = packed(DType::f32, {1, 3, 40, 40}, Layout::channels_first);
    const KernelCase test(Problem(tensor, {{ActivationOp{info.mode}, {}}}), random);
    EXPECT_TRUE(test.check(test.run(*cpu::portable_recipe(test.problem(), test.chain()))));
  }
}

}  // namespace
}  // namespace fuseplan::test
