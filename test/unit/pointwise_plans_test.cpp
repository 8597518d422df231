// SPDX-License-Identifier: MIT
#include <cstring>
#include <functional>
#include <numeric>

#include "backend/code_memory.hpp"
#include "base/denormals.hpp"
#include "emit_kernel.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/pointwise/recipe.hpp"
#include "kernels/cpu/pointwise/walk.hpp"

namespace fuseplan::test {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

const Dims kShapes[] = {{1, 1},         {5, 300},        {3, 7, 11},      {2, 3, 5, 7},
                        {1, 64, 1, 1},  {4, 1, 33, 9},   {1, 17, 31, 29}, {2, 300, 3, 3},
                        {1, 3, 1, 700}, {2, 5, 3, 4, 9}, {2, 3, 40, 41},  {1, 2, 1, 1, 513},
                        {1, 700, 5, 5}, {1, 40, 23, 25}};

std::vector<fuseplan::Dims> shapes() {
  std::vector<fuseplan::Dims> shapes;
  for (const Dims& lens : kShapes) shapes.emplace_back(lens.begin(), lens.end());
  return shapes;
}

/// Runs an accepted plan on every instruction set, in every way and with several threads.
void expect_right(const KernelCase& test) {
  const auto configs = cpu::pointwise_configs(test.problem(), test.chain());
  for (const cpu::Isa isa : vector_isas())
    for (const cpu::PointwiseConfig& config : configs) {
      SCOPED_TRACE(to_text(config));
      const auto recipe = cpu::pointwise_recipe(test.problem(), test.chain(), isa, config);
      const HostTensor output = test.run(*recipe);
      EXPECT_TRUE(test.check(output)) << name_of(isa);
      EXPECT_EQ(output.damage(), "") << name_of(isa);
      for (const int threads : {2, 5}) {
        const HostTensor again = test.run(*recipe, threads);
        EXPECT_EQ(std::memcmp(output.data(), again.data(), output.bytes()), 0) << name_of(isa);
        EXPECT_EQ(again.damage(), "") << name_of(isa);
      }
    }
}

class Pointwise : public ::testing::TestWithParam<Strides> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Pointwise,
                         ::testing::Values(Strides::channels_first, Strides::channels_last,
                                           Strides::padded),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Pointwise, ShapesAndTypes) {
  Random random(31);
  int number = 0;
  for (const fuseplan::Dims& lens : shapes())
    for (Tail tail :
         {Tail::none, Tail::bias_norm_relu, Tail::add_gelu, Tail::everything, Tail::residual}) {
      const DType in = kTypes[number % 3], out = kTypes[number / 3 % 3];
      ++number;
      std::vector<Op> ops = tail_ops(tail, lens, out, GetParam(), random);
      if (ops.empty()) ops.push_back({ActivationOp{fuseplan::Activation::PASTHRU}, {}});
      const Problem problem(make_tensor(in, lens, GetParam(), random), ops,
                            make_tensor(out, lens, GetParam(), random));
      const KernelCase test(problem, random);
      // The stride 1 of a padded tensor's last axis is no help if that axis has one element.
      const bool strided = GetParam() == Strides::padded && lens.back() == 1;
      if (strided && cpu::pointwise_refusal(problem, test.chain(), cpu::Isa::avx2)) continue;
      expect_right(test);
    }
}

TEST(PointwisePlans, MixedLayoutsAreRightOrRefusedWithASentence) {
  Random random(32);
  constexpr Strides kAll[] = {Strides::channels_first, Strides::channels_last, Strides::padded,
                              Strides::permuted};
  int refused = 0, accepted = 0;
  for (const fuseplan::Dims& lens : shapes())
    for (const Strides from : kAll)
      for (const Strides to : kAll) {
        if (std::accumulate(lens.begin(), lens.end(), 1L, std::multiplies<>()) > 5000) continue;
        const Problem problem(make_tensor(DType::f32, lens, from, random),
                              tail_ops(Tail::everything, lens, DType::f32, from, random),
                              make_tensor(DType::f32, lens, to, random));
        const KernelCase test(problem, random);
        const auto refusal = cpu::pointwise_refusal(problem, test.chain(), cpu::Isa::avx2);
        if (refusal) {
          EXPECT_NE(refusal->find("stride"), std::string::npos) << *refusal;
          ++refused;
        } else {
          expect_right(test);
          ++accepted;
        }
      }
  EXPECT_GT(refused, 0);
  EXPECT_GT(accepted, 30);
}

TEST(PointwisePlans, EveryActivation) {
  Random random(33);
  for (const ActivationInfo& info : all_activations()) {
    const Tensor tensor = packed(DType::f32, {1, 3, 40, 40}, Layout::channels_last);
    expect_right(KernelCase(Problem(tensor, {{ActivationOp{info.mode}, {}}}), random));
  }
}

// Its length is no multiple of what threads are given.
TEST(PointwisePlans, OneLongRowIsCutAmongThreads) {
  Random random(35);
  const Tensor tensor = packed(DType::f32, {1, 3, 101, 301}, Layout::channels_first);
  expect_right(KernelCase(
      Problem(tensor, {{ActivationOp{fuseplan::Activation::RELU}, {false, true}}}), random));
}

SplitChain chain_of(const Problem& problem) { return optimize(lower(problem), {}); }

TEST(PointwisePlans, AxesJoinAsFarAsStridesAllow) {
  struct Row {
    const char* problem;
    std::size_t outer;
    std::int64_t rows, lanes;
    bool lanes_are_channels;
  };
  constexpr Row kRows[] = {
      {"f32:2x8x4x5:nchw;activation(relu)->f32:2x8x4x5:nchw", 0, 1, 320, false},
      {"f32:2x8x4x5:nhwc;activation(relu)->f32:2x8x4x5:nhwc", 0, 1, 320, false},
      {"f32:2x8x4x5:nchw;bias(f32:1x8x1x1:nchw)->f32:2x8x4x5:nchw", 1, 8, 20, false},
      {"f32:2x8x4x5:nhwc;bias(f32:1x8x1x1:nchw)->f32:2x8x4x5:nhwc", 0, 40, 8, true},
      {"f32:2x8x1x1:nchw;bias(f32:1x8x1x1:nchw)->f32:2x8x1x1:nchw", 0, 2, 8, true},
      {"f32:2x8x4x5:nchw;add(f32:1x8x4x5:nchw)->f32:2x8x4x5:nchw", 0, 2, 160, false},
      {"f32:1x1x1x1:nchw;activation(relu)->f32:1x1x1x1:nchw", 0, 1, 1, false}};
  for (const Row& row : kRows) {
    const Problem problem = parse_problem(row.problem);
    const auto walk = cpu::plan_walk(problem, chain_of(problem));
    ASSERT_TRUE(walk) << row.problem;
    EXPECT_EQ(walk->outer.size(), row.outer) << row.problem;
    EXPECT_EQ(walk->rows.len, row.rows) << row.problem;
    EXPECT_EQ(walk->lanes.len, row.lanes) << row.problem;
    EXPECT_EQ(walk->lanes_are_channels, row.lanes_are_channels) << row.problem;
  }
}

// Large outputs are stored past the caches, but not where they replace the input.
TEST(PointwisePlans, StreamingStoresAndInPlaceAgree) {
  for (const char* text : {"f32:1x37x331x401:nchw;bias(f32:1x37x1x1:nchw);activation(relu)",
                           "f32:1x37x331x401:nhwc;bias(f32:1x37x1x1:nchw);activation(relu)"}) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = chain_of(problem);
    Random random(34);
    const auto count = static_cast<std::size_t>(problem.input().elements());
    std::vector<float> input(count), output(count + 1, -1), bias(37);
    for (float& value : input) value = static_cast<float>(random.uniform(-1, 1));
    for (float& value : bias) value = static_cast<float>(random.uniform(-1, 1));
    const void* channels[] = {bias.data()};
    const Parallel parallel(2);
    for (const cpu::Isa isa : vector_isas()) {
      const auto config = cpu::pointwise_configs(problem, chain).front();
      const auto recipe = cpu::pointwise_recipe(problem, chain, isa, config);
      std::vector<std::unique_ptr<CodeMemory>> code;
      std::vector<const void*> entries;
      for (const cpu::Function& function : recipe->emit()) {
        code.push_back(std::make_unique<CodeMemory>(function.code));
        entries.push_back(code.back()->data());
      }
      EXPECT_EQ(entries.size(), 3u);
      const auto program = recipe->bind(entries);
      std::vector<float> in_place = input;
      const FlushDenormals flush;
      program->run({in_place.data(), in_place.data(), nullptr, channels, {}, {}, {}, parallel});
      program->run({input.data(), output.data(), nullptr, channels, {}, {}, {}, parallel});
      EXPECT_EQ(std::memcmp(output.data(), in_place.data(), count * sizeof(float)), 0) << text;
      EXPECT_EQ(output.back(), -1) << text;
    }
  }
}

}  // namespace
}  // namespace fuseplan::test
