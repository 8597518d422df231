// SPDX-License-Identifier: MIT
// Random chains: any number of pointwise ops in any order, with and without a convolution in front,
// with blending scalars, odd strides and broadcast operands.
#include "matrix.hpp"

namespace fuseplan::test {
namespace {

using driver::OpKind;
using driver::OpSpec;

driver::TensorSpec random_layout(fuseplanDataType_t type, const driver::Dims& lens, Random& random,
                                 bool any_strides) {
  const std::int64_t pick = random.between(0, any_strides ? 4 : 1);
  driver::TensorSpec tensor{type, lens, {}};
  if (pick <= 1) tensor.strides = driver::packed_strides(lens, pick == 1);
  if (pick == 2 || pick == 3) tensor.strides = padded(lens, random);
  if (pick == 4) tensor.strides = permuted(lens, random);
  return tensor;
}

OpSpec random_conv(const driver::TensorSpec& input, Random& random) {
  OpSpec op;
  op.kind = OpKind::conv;
  const std::int64_t channels = input.lens[1];
  op.groups = channels % 2 == 0 && random.between(0, 2) == 0 ? 2 : 1;
  if (random.between(0, 5) == 0) op.groups = channels;
  driver::Dims lens{op.groups * random.between(1, op.groups == channels ? 2 : 20),
                    channels / op.groups};
  for (std::size_t axis = 2; axis < input.rank(); ++axis) {
    lens.push_back(random.between(1, 4));
    op.dilation.push_back(random.between(1, 2));
    op.stride.push_back(random.between(1, 3));
    const std::int64_t reach = op.dilation.back() * (lens.back() - 1) + 1;
    const std::int64_t least = std::max<std::int64_t>(0, (reach - input.lens[axis] + 1) / 2);
    op.pad_lo.push_back(random.between(least, least + 2));
    op.pad_hi.push_back(random.between(least, least + 2));
  }
  op.tensor = random_layout(input.type, lens, random, true);
  return op;
}

OpSpec random_pointwise(fuseplanDataType_t type, const driver::Dims& lens, Random& random) {
  OpSpec op;
  op.kind = static_cast<OpKind>(random.between(1, 5));
  driver::Dims channel(lens.size(), 1);
  channel[1] = lens[1];
  op.tensor = driver::packed(random.between(0, 1) == 0 ? fuseplanFloat : type, channel, false);
  if (op.kind == OpKind::norm && random.between(0, 2) == 0) {
    op.norm_mode = fuseplanBNPerActivation;
    driver::Dims activations = lens;
    activations[0] = 1;
    op.tensor = random_layout(fuseplanFloat, activations, random, false);
  }
  if (op.kind == OpKind::add) {
    driver::Dims other = lens;
    for (std::int64_t& length : other)
      if (random.between(0, 4) == 0) length = 1;
    op.tensor = random_layout(type, other, random, true);
  }
  if (op.kind == OpKind::activation) {
    const auto& all = driver::all_activations();
    op.mode =
        all[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(all.size()) - 1))]
            .mode;
    // A power of an arbitrary chain's values would mostly be NaN; it has tests of its own.
    if (op.mode == fuseplanActivationPOWER) op.mode = fuseplanActivationTANH;
  }
  return op;
}

ProblemSpec random_problem(Random& random) {
  ProblemSpec problem;
  const fuseplanDataType_t type = kTypes[static_cast<std::size_t>(random.between(0, 2))];
  driver::Dims lens{random.between(1, 3), random.between(1, 40)};
  const std::int64_t spatial = random.between(1, 3);
  for (std::int64_t axis = 0; axis < spatial; ++axis) lens.push_back(random.between(1, 12));
  problem.input = random_layout(type, lens, random, true);
  if (random.between(0, 1) == 0) problem.ops.push_back(random_conv(problem.input, random));
  const std::int64_t count = random.between(problem.ops.empty() ? 1 : 0, 6);
  for (std::int64_t i = 0; i < count; ++i)
    problem.ops.push_back(random_pointwise(type, problem.output_lens(), random));
  problem.output = random_layout(random.between(0, 3) == 0 ? fuseplanFloat : type,
                                 problem.output_lens(), random, true);
  return problem;
}

class Chains : public testing::TestWithParam<int> {};

TEST_P(Chains, RandomPlans) {
  constexpr int kPlans = 25;
  Random random(1000 + static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < kPlans; ++i) {
    const ProblemSpec problem = random_problem(random);
    for (const std::string& level : kLevels)
      expect_right(
          problem, level,
          {.stream = static_cast<std::uint64_t>(i), .blend = i % 3 == 0, .misalign = i % 5});
    if (HasFailure()) return;  // one failing plan says enough
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, Chains, testing::Range(0, 16));

}  // namespace
}  // namespace fuseplan::test
