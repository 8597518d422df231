// SPDX-License-Identifier: MIT
#include "driver/device/batched_case.hpp"

#include <algorithm>
#include <stdexcept>

namespace fuseplan::driver {
namespace {

void resize(TensorSpec& tensor, std::size_t axis, std::int64_t length) {
  const bool last = is_channels_last(tensor);
  tensor.lens[axis] = length;
  tensor.strides = packed_strides(tensor.lens, last);
}

// Plans hold no arguments of executions.
std::string plan_text(ProblemSpec problem) {
  for (OpSpec& op : problem.ops) op.parameters.reset();
  return to_text(problem);
}

// The same chain behind the first filters only; all of them where there are few.
ProblemSpec with_filters(ProblemSpec problem, std::int64_t filters) {
  const std::int64_t all = problem.output_lens()[1];
  for (OpSpec& op : problem.ops) {
    if (op.kind == OpKind::conv) {
      resize(op.tensor, 0, filters);
    } else if (op.tensor.rank() > 1 && op.tensor.lens[1] == all) {
      resize(op.tensor, 1, filters);
    }
  }
  if (problem.output.rank() > 0) resize(problem.output, 1, filters);
  return problem;
}

// Images' first elements, which are the first of their values.
std::vector<double> first(const test::HostTensor& tensor, std::int64_t count) {
  std::vector<double> values = tensor.values();
  values.resize(static_cast<std::size_t>(count));
  return values;
}

}  // namespace

ProblemSpec with_batch(ProblemSpec problem, std::int64_t images) {
  for (const OpSpec& op : problem.ops)
    if (op.kind == OpKind::add || op.source.rank() > 0)
      throw std::invalid_argument(problem.name +
                                  ": chains with tensors of the batch's size are not run here");
  resize(problem.input, 0, images);
  if (problem.output.rank() > 0) resize(problem.output, 0, images);
  return problem;
}

BatchedCase::BatchedCase(fuseplanHandle_t handle, const ProblemSpec& problem)
    : handle_(handle),
      problem_(problem),
      one_(with_batch(problem, 1), {.device = handle}),
      one_input_bytes_(one_.input().bytes()),
      one_output_bytes_(one_.output().bytes()),
      plan_(make<Plan>(fuseplanCreatePlanFromString, plan_text(problem).c_str())),
      input_desc_(describe(problem.input)),
      output_desc_(make<TensorDesc>(fuseplanCreateTensorDescriptor)) {
  check(fuseplanPlanGetOutputDescriptor(plan_.get(), output_desc_.get()));
  check(fuseplanCompilePlan(handle, plan_.get()));
}

fuseplanPlanInfo_t BatchedCase::info() const {
  fuseplanPlanInfo_t info = {};
  info.structSize = sizeof info;
  check(fuseplanPlanGetInfo(handle_, plan_.get(), &info));
  return info;
}

bool BatchedCase::rounds_inputs() const {
  return problem_.input.type == fuseplanFloat && rounding_of(info().solver) != Tf32::no;
}

void BatchedCase::fill_input(void* input) {
  check(fuseplanCopy(handle_, input, one_.input_at(), one_input_bytes_, fuseplanCopyOnDevice));
  const std::size_t all = input_bytes();
  for (std::size_t done = one_input_bytes_; done < all; done *= 2)
    check(fuseplanCopy(handle_, static_cast<char*>(input) + done, input, std::min(done, all - done),
                       fuseplanCopyOnDevice));
}

void BatchedCase::launch(const void* input, void* output) {
  check(fuseplanExecutePlan(handle_, plan_.get(), input_desc_.get(), input, output_desc_.get(),
                            output, one_.args()));
}

test::HostTensor BatchedCase::image(const void* output, std::size_t number) {
  test::HostTensor image = one_.output().like();
  check(fuseplanCopy(handle_, image.data(),
                     static_cast<const char*>(output) + number * one_output_bytes_,
                     one_output_bytes_, fuseplanCopyToHost));
  return image;
}

test::Comparison BatchedCase::compare(const void* output) {
  constexpr std::int64_t kFilters = 4;
  const OpSpec* conv = problem_.conv();
  const bool cut = conv != nullptr && conv->groups == 1 && conv->tensor.lens[0] > kFilters;
  if (checked_ == nullptr) {
    const ProblemSpec one = with_batch(problem_, 1);
    checked_ = std::make_unique<Case>(cut ? with_filters(one, kFilters) : one);
    checked_->expect_tf32(rounds_inputs() ? rounding_of(info().solver) : Tf32::no);
    checked_->input().set_values(one_.input().values());
    for (std::size_t i = 0; i < one_.parameter_count(); ++i) {
      test::HostTensor& parameter = checked_->parameter(i);
      parameter.set_values(first(one_.parameter(i), parameter.elements()));
    }
  }
  for (std::size_t number : {std::size_t{0}, images() - 1}) {
    test::HostTensor& result = checked_->output();
    result.set_values(first(image(output, number), result.elements()));
    const test::Comparison comparison = test::compare(result, checked_->reference());
    if (!comparison.ok() || number == images() - 1) return comparison;
  }
  throw std::logic_error("no images");
}

}  // namespace fuseplan::driver
