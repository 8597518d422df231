// SPDX-License-Identifier: MIT
#include "random_problem.hpp"

#include <algorithm>

namespace fuseplan::test {
namespace {

DType random_dtype(Random& random) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
  return kTypes[random.between(0, 2)];
}

DType random_storage(Random& random) {
  if (random.between(0, 3) > 0) return random_dtype(random);
  return random.between(0, 1) == 1 ? DType::i8 : DType::u8;
}

bool coin(Random& random) { return random.between(0, 1) == 1; }

Tensor per_channel(Random& random, const Tensor& value) {
  if (random.between(0, 3) == 0)
    return random_tensor(random, random_dtype(random), Dims{value.lens[1]});
  Dims lens(value.lens.size(), 1);
  lens[1] = value.lens[1];
  return random_tensor(random, random_dtype(random), lens);
}

OpBody random_norm(Random& random, const Tensor& value) {
  if (coin(random)) return NormOp{NormMode::spatial, per_channel(random, value)};
  Dims lens = value.lens;
  lens[0] = 1;
  return NormOp{NormMode::per_activation, random_tensor(random, random_dtype(random), lens)};
}

OpBody random_add(Random& random, const Tensor& value) {
  Dims lens = value.lens;
  for (auto& length : lens)
    if (random.between(0, 2) == 0) length = 1;
  return AddOp{random_tensor(random, random_storage(random), lens)};
}

OpBody random_pointwise(Random& random, const Tensor& value) {
  switch (random.between(0, 4)) {
    case 0:
      return BiasOp{per_channel(random, value)};
    case 1:
      return random_norm(random, value);
    case 2:
      return random_add(random, value);
    case 3:
      return ScaleShiftOp{per_channel(random, value)};
    default: {
      const auto modes = all_activations();
      return ActivationOp{modes[random.between(0, std::ssize(modes) - 1)].mode};
    }
  }
}

ConvOp random_conv(Random& random, const Tensor& input) {
  ConvOp op;
  op.conv.groups = coin(random) ? input.lens[1] : 1;
  Dims weights{op.conv.groups * random.between(1, 3), input.lens[1] / op.conv.groups};
  for (int axis = 0; axis < input.spatial(); ++axis) {
    weights.push_back(random.between(1, 3));
    op.conv.dilation.push_back(random.between(1, 2));
    op.conv.stride.push_back(random.between(1, 3));
    const std::int64_t reach = 1 + op.conv.dilation.back() * (weights.back() - 1);
    op.conv.pad_lo.push_back(random.between(0, 2));
    const std::int64_t missing = reach - input.lens[axis + 2] - op.conv.pad_lo.back();
    op.conv.pad_hi.push_back(std::max<std::int64_t>(missing, random.between(0, 2)));
  }
  op.conv.strict = coin(random);
  op.conv.deterministic = coin(random);
  op.weights = random_tensor(random, is_byte(input.dtype) ? DType::i8 : input.dtype, weights);
  return op;
}

double random_value(Random& random, Role role) {
  switch (role) {
    case Role::norm_variance:
      return random.uniform(0.1, 2);
    case Role::epsilon:
      return 1e-5;
    case Role::activ_gamma:  // whole numbers, so that powers of negative values exist
      return static_cast<double>(random.between(1, 3));
    default:
      return random.uniform(-1.5, 1.5);
  }
}

}  // namespace

Tensor random_tensor(Random& random, DType dtype, const Dims& lens) {
  const std::int64_t kind = random.between(0, 2);
  if (kind == 0) return packed(dtype, lens, Layout::channels_first);
  if (kind == 1) return packed(dtype, lens, Layout::channels_last);
  StaticVector<std::size_t, kMaxRank> order;
  for (std::size_t axis = 0; axis < lens.size(); ++axis)
    order.insert(order.begin() + random.between(0, std::ssize(order)), axis);
  Tensor tensor{dtype, lens, Dims(lens.size(), 1)};
  std::int64_t stride = 1;
  for (std::size_t axis : order) {
    tensor.strides[axis] = stride;
    stride = stride * lens[axis] + random.between(0, 2);
  }
  return tensor;
}

Problem random_problem(Random& random, int max_ops) {
  Dims lens;
  for (std::int64_t rank = random.between(2, 5); rank > 0; --rank)
    lens.push_back(random.between(1, 5));
  const Tensor input = random_tensor(random, random_storage(random), lens);
  std::vector<Op> ops;
  Tensor value = input;
  const std::int64_t count = random.between(1, max_ops);
  while (std::ssize(ops) < count) {
    Op op;
    const bool may_convolve = ops.empty() && value.spatial() > 0;
    op.body = may_convolve && coin(random) ? OpBody(random_conv(random, value))
                                           : random_pointwise(random, value);
    op.blend = {random.between(0, 3) == 0, std::ssize(ops) + 1 == count && coin(random)};
    value = op_output(op.body, value);
    ops.push_back(std::move(op));
  }
  Tensor output;
  if (coin(random)) output = random_tensor(random, random_storage(random), value.lens);
  return Problem(input, std::move(ops), output);
}

RandomLeaves random_leaves(Random& random, const Chain& chain) {
  RandomLeaves leaves{random.uniform(-2, 2), random.uniform(-2, 2), {}, {}, {}};
  for (auto [operands, values] :
       {std::pair(&chain.scalars, &leaves.scalars), std::pair(&chain.channels, &leaves.channels),
        std::pair(&chain.elements, &leaves.elements)})
    for (const Operand& operand : *operands) values->push_back(random_value(random, operand.role));
  return leaves;
}

}  // namespace fuseplan::test
