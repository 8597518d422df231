// SPDX-License-Identifier: MIT
#include "kernel_case.hpp"

#include <cmath>
#include <cstring>
#include <memory>

#include "backend/code_memory.hpp"
#include "base/memory.hpp"
#include "support/gtest.hpp"

namespace fuseplan::test {
namespace {

Element element_of(DType dtype) { return static_cast<Element>(dtype); }
Dims dims_of(const fuseplan::Dims& dims) { return {dims.begin(), dims.end()}; }
fuseplan::Dims dims_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

HostTensor host_tensor(const Tensor& tensor) {
  return {element_of(tensor.dtype), dims_of(tensor.lens), dims_of(tensor.strides)};
}

HostTensor filled(const Tensor& tensor, Random& random, double low, double high) {
  HostTensor host = host_tensor(tensor);
  random.fill(host, low, high);
  return host;
}

// What brings sums of 8-bit integers near 1, or to the integers that the output can hold.
double scale_unit(const Problem& problem) {
  if (problem.conv() == nullptr || !is_byte(problem.input().dtype)) return 1;
  const Tensor& weights = problem.conv()->weights;
  const double products = static_cast<double>(weights.elements() / weights.lens[0]);
  return (is_byte(problem.output().dtype) ? 64 : 1) / (8192 * std::sqrt(products));
}

}  // namespace

KernelCase::KernelCase(Problem problem, Random& random, const PassOptions& passes)
    : problem_(std::move(problem)),
      chain_(optimize(lower(problem_), passes)),
      input_(filled(problem_.input(), random, -1, 1)),
      previous_(filled(problem_.output(), random, -1, 1)) {
  for (int i = 0; i < static_cast<int>(problem_.ops().size()); ++i) fill_op(i, random);
  compute_expected();
}

void KernelCase::compute_expected() {
  std::vector<Step> steps;
  for (int i = 0; i < static_cast<int>(problem_.ops().size()); ++i) steps.push_back(step_of(i));
  expected_ = run_reference(input_, steps, &previous_);
}

void KernelCase::set_input(const Dims& index, double value) {
  input_.set(index, value);
  compute_expected();
}

void KernelCase::set_weight(const Dims& index, double value) {
  tensors_.at({0, Role::weights}).set(index, value);
  compute_expected();
}

void KernelCase::add_tensor(Key key, const Tensor& tensor, Random& random, double low,
                            double high) {
  tensors_.emplace(key, filled(tensor, random, low, high));
}

// Run-time scalars are f32 in the interface.
void KernelCase::add_scalar(Key key, double value) {
  scalars_[key] = static_cast<double>(static_cast<float>(value));
}

void KernelCase::fill_op(int index, Random& random) {
  const Op& op = problem_.ops()[static_cast<std::size_t>(index)];
  if (op.blend.alpha) add_scalar({index, Role::alpha}, random.uniform(0.5, 2));
  if (op.blend.beta) add_scalar({index, Role::beta}, random.uniform(-1, 1));
  if (const auto* conv = std::get_if<ConvOp>(&op.body)) {
    add_tensor({index, Role::weights}, conv->weights, random, -1, 1);
  } else if (const auto* bias = std::get_if<BiasOp>(&op.body)) {
    add_tensor({index, Role::bias}, bias->bias, random, -1, 1);
  } else if (const auto* norm = std::get_if<NormOp>(&op.body)) {
    add_tensor({index, Role::norm_scale}, norm->params, random, -1, 1);
    add_tensor({index, Role::norm_bias}, norm->params, random, -1, 1);
    add_tensor({index, Role::norm_mean}, norm->params, random, -1, 1);
    add_tensor({index, Role::norm_variance}, norm->params, random, 0.5, 2);
    add_scalar({index, Role::epsilon}, 1e-3);
  } else if (std::holds_alternative<ActivationOp>(op.body)) {
    add_scalar({index, Role::activ_alpha}, random.uniform(0.5, 2));
    add_scalar({index, Role::activ_beta}, random.uniform(0.5, 2));
    add_scalar({index, Role::activ_gamma}, random.uniform(0.5, 2));
  } else if (const auto* add = std::get_if<AddOp>(&op.body)) {
    add_tensor({index, Role::other}, add->other, random, -1, 1);
    add_scalar({index, Role::add_scale}, random.uniform(-2, 2));
  } else if (const auto* scale = std::get_if<ScaleShiftOp>(&op.body)) {
    const double range = 2 * (index == 1 ? scale_unit(problem_) : 1);
    add_tensor({index, Role::scale}, scale->params, random, -range, range);
    add_tensor({index, Role::shift}, scale->params, random, -1, 1);
  }
}

Step KernelCase::step_of(int i) const {
  const Op& op = problem_.ops()[static_cast<std::size_t>(i)];
  const double alpha = op.blend.alpha ? scalar(i, Role::alpha) : 1;
  const double beta = op.blend.beta ? scalar(i, Role::beta) : 0;
  if (const auto* conv = std::get_if<ConvOp>(&op.body))
    return {Convolution{tensor(i, Role::weights), dims_of(conv->conv.stride),
                        dims_of(conv->conv.dilation), dims_of(conv->conv.pad_lo),
                        dims_of(conv->conv.pad_hi), conv->conv.groups},
            alpha, beta};
  if (std::holds_alternative<BiasOp>(op.body)) return {Bias{tensor(i, Role::bias)}, alpha, beta};
  if (std::holds_alternative<NormOp>(op.body))
    return {BatchNorm{tensor(i, Role::norm_scale), tensor(i, Role::norm_bias),
                      tensor(i, Role::norm_mean), tensor(i, Role::norm_variance),
                      scalar(i, Role::epsilon)},
            alpha, beta};
  if (const auto* activation = std::get_if<ActivationOp>(&op.body))
    return {Activation{static_cast<Mode>(activation->mode), scalar(i, Role::activ_alpha),
                       scalar(i, Role::activ_beta), scalar(i, Role::activ_gamma)},
            alpha, beta};
  if (std::holds_alternative<AddOp>(op.body))
    return {Add{tensor(i, Role::other), scalar(i, Role::add_scale)}, alpha, beta};
  return {ScaleShift{tensor(i, Role::scale), tensor(i, Role::shift)}, alpha, beta};
}

HostTensor KernelCase::run(const cpu::Recipe& recipe, int threads) const {
  std::vector<std::unique_ptr<CodeMemory>> code;
  std::vector<const void*> entries;
  for (const cpu::Function& function : recipe.emit()) {
    code.push_back(std::make_unique<CodeMemory>(function.code));
    entries.push_back(code.back()->data());
  }
  const std::unique_ptr<cpu::Program> program = recipe.bind(entries);
  const Parallel parallel(threads);
  Buffer prepared(program->prepared_bytes());
  if (prepared.bytes() > 0)
    program->prepare(tensors_.at({0, Role::weights}).data(), prepared.data(), parallel);
  std::vector<const void*> channels, elements;
  std::vector<double> scalars;
  for (const Operand& o : chain_.channels_in)
    channels.push_back(tensors_.at({o.op, o.role}).data());
  for (const Operand& o : chain_.elements) elements.push_back(tensors_.at({o.op, o.role}).data());
  for (const Operand& o : chain_.scalars) scalars.push_back(scalar(o.op, o.role));
  HostTensor output = chain_.reads_previous() ? previous_ : previous_.like();
  program->run(
      {input_.data(), output.data(), prepared.data(), channels, elements, scalars, {}, parallel});
  if (!program->takes_raw_weights()) return output;
  HostTensor again = chain_.reads_previous() ? previous_ : previous_.like();
  program->run({input_.data(),
                again.data(),
                tensors_.at({0, Role::weights}).data(),
                channels,
                elements,
                scalars,
                {},
                parallel,
                true});
  EXPECT_EQ(std::memcmp(again.data(), output.data(), output.bytes()), 0)
      << "with raw weights: " << to_text(problem_);
  return output;
}

::testing::AssertionResult KernelCase::check(const HostTensor& output) const {
  return is_close(output, expected_) << to_text(problem_);
}

const char* name_of(Strides strides) {
  constexpr const char* kNames[] = {"channels_first", "channels_last", "padded", "permuted"};
  return kNames[static_cast<std::size_t>(strides)];
}

Tensor make_tensor(DType dtype, const fuseplan::Dims& lens, Strides strides, Random& random) {
  const Dims dims = dims_of(lens);
  switch (strides) {
    case Strides::channels_first:
      return packed(dtype, lens, Layout::channels_first);
    case Strides::channels_last:
      return packed(dtype, lens, Layout::channels_last);
    case Strides::padded:
      return {dtype, lens, dims_of(padded(dims, random))};
    default:
      return {dtype, lens, dims_of(permuted(dims, random))};
  }
}

std::vector<Op> tail_ops(Tail tail, const fuseplan::Dims& lens, DType dtype, Strides strides,
                         Random& random) {
  fuseplan::Dims channel(lens.size(), 1), image = lens, row(lens.size(), 1);
  channel[1] = lens[1];
  image[0] = 1;
  row.back() = lens.back();
  const auto params = [&](DType type) { return packed(type, channel, Layout::channels_first); };
  const auto like = [&](const fuseplan::Dims& d) { return make_tensor(dtype, d, strides, random); };
  const auto real_like = [&](const fuseplan::Dims& d) {
    return make_tensor(is_real(dtype) ? dtype : DType::f32, d, strides, random);
  };
  using A = fuseplan::Activation;
  switch (tail) {
    case Tail::none:
      return {};
    case Tail::bias_norm_relu:
      return {{BiasOp{params(DType::f32)}, {}},
              {NormOp{NormMode::spatial, params(DType::f32)}, {}},
              {ActivationOp{A::RELU}, {}}};
    case Tail::residual:
      return {{NormOp{NormMode::spatial, params(DType::f32)}, {}},
              {AddOp{like(lens)}, {}},
              {ActivationOp{A::LEAKYRELU}, {false, true}}};
    case Tail::add_gelu:
      return {{AddOp{like(lens)}, {}}, {ActivationOp{A::GELU_ERF}, {}}};
    case Tail::gelu_add_mish:
      return {
          {ActivationOp{A::GELU_TANH}, {}}, {AddOp{like(lens)}, {}}, {ActivationOp{A::MISH}, {}}};
    case Tail::requantise:
      return {{ScaleShiftOp{params(DType::f32)}, {}},
              {AddOp{like(lens)}, {}},
              {ActivationOp{A::LEAKYRELU}, {}}};
    default:
      return {{ScaleShiftOp{params(DType::bf16)}, {true, false}},
              {NormOp{NormMode::per_activation, real_like(image)}, {}},
              {ActivationOp{A::TANH}, {}},
              {AddOp{like(row)}, {}},
              {BiasOp{params(is_real(dtype) ? dtype : DType::f16)}, {}},
              {ActivationOp{A::LEAKYRELU}, {true, true}}};
  }
}

ConvCase conv_case(const ConvProblem& p) {
  return {{p.n, p.c, p.h, p.w},
          {p.k, p.c / p.groups, p.r, p.s},
          {{p.pad_h, p.pad_w},
           {p.pad_h, p.pad_w},
           {p.stride_h, p.stride_w},
           {p.dil_h, p.dil_w},
           p.groups}};
}

Problem conv_problem(const ConvCase& shape, TypesAndStrides types, Tail tail, Random& random) {
  const Tensor input = make_tensor(types.input, shape.input, types.strides, random);
  const DType weight_type = is_byte(types.input) ? DType::i8 : types.input;
  const Tensor weights = make_tensor(weight_type, shape.filter, types.strides, random);
  const fuseplan::Dims lens = conv_output(shape.conv, input, weights).lens;
  std::vector<Op> ops{{ConvOp{shape.conv, weights}, {}}};
  for (Op& op : tail_ops(tail, lens, types.output, types.strides, random)) ops.push_back(op);
  return Problem(input, std::move(ops), make_tensor(types.output, lens, types.strides, random));
}

}  // namespace fuseplan::test
