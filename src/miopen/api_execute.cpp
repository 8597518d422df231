// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include "miopen/plan.hpp"

using namespace fuseplan::miopen;

namespace {

std::shared_ptr<const Ready> ready_for(miopenHandle_t handle, Plan& plan) {
  const std::shared_lock lock(plan.mutex);
  const auto found = plan.ready.find(handle);
  require(found != plan.ready.end(), miopenStatusBadParm,
          "the plan is not compiled for this handle, or was appended to since");
  return found->second;
}

void check_descriptor(miopenTensorDescriptor_t descriptor, const char* argument,
                      const Shape& expected) {
  const Shape given = shape_of(descriptor, argument);
  if (!same_memory(given, expected))
    fail(miopenStatusBadParm, "{} is {}, the plan was compiled for {}", argument, described(given),
         described(expected));
}

/// Pointers that an op of this kind cannot do without, by their place among its arguments.
std::span<const std::size_t> required_pointers(FusionOp kind) {
  static constexpr std::size_t kOne[] = {0}, kNorm[] = {0, 1, 2, 3}, kForward[] = {0, 1},
                               kBackward[] = {0, 1, 2, 5, 6};
  switch (kind) {
    case FusionOp::conv:
    case FusionOp::bias:
      return kOne;
    case FusionOp::norm_inference:
      return kNorm;
    case FusionOp::norm_forward:
      return kForward;
    case FusionOp::norm_backward:
      return kBackward;
    default:
      return {};
  }
}

StoredArguments stored(const Args& args, const Source& source) {
  const auto index = static_cast<std::size_t>(source.op);
  const auto* values = index < args.ops.size() && args.ops[index] ? &*args.ops[index] : nullptr;
  require(values != nullptr, miopenStatusBadParm, "the arguments of op {} ({}) were never set",
          source.op, name_of(source.kind));
  require(values->kind == source.kind, miopenStatusBadParm,
          "the arguments of op {} were set for {}, the plan has {} there", source.op,
          name_of(values->kind), name_of(source.kind));
  for (const std::size_t i : required_pointers(source.kind))
    require(values->pointers[i] != nullptr, miopenStatusBadParm, "pointer {} of op {} ({}) is NULL",
            i, source.op, name_of(source.kind));
  return *values;
}

OpArguments arguments_of(OpKind kind, const Source& source, const StoredArguments& from) {
  OpArguments to{.kind = kind, .pointers = from.pointers};
  to.scalars = source.scalars.value_or(from.scalars);
  if (kind == OpKind::add) to.scalars[0] = 1;
  return to;
}

void execute(miopenHandle_t handle, miopenFusionPlanDescriptor_t plan,
             miopenTensorDescriptor_t input_desc, const void* input,
             miopenTensorDescriptor_t output_desc, void* output, miopenOperatorArgs_t args) {
  const auto handle_object = find(handle, "handle");
  const auto ready = ready_for(handle, *find(plan, "fusePlanDesc"));
  const Translation& translation = ready->translation;
  check_descriptor(input_desc, "inputDesc", translation.chain.input);
  check_descriptor(output_desc, "outputDesc", translation.chain.output);
  required(input, "input");
  required(output, "output");
  const auto args_object = find(args, "args");
  std::vector<OpArguments> arguments;
  {
    const std::lock_guard lock(args_object->mutex);
    for (std::size_t i = 0; i < translation.sources.size(); ++i)
      arguments.push_back(arguments_of(translation.kinds[i], translation.sources[i],
                                       stored(*args_object, translation.sources[i])));
  }
  handle_object->loop_ms = -1;
  ready->chain->execute(input, output, arguments);
}

}  // namespace

miopenStatus_t miopenExecuteFusionPlan(miopenHandle_t handle,
                                       miopenFusionPlanDescriptor_t fusePlanDesc,
                                       miopenTensorDescriptor_t inputDesc, const void* input,
                                       miopenTensorDescriptor_t outputDesc, void* output,
                                       miopenOperatorArgs_t args) {
  return guard(__func__,
               [&] { execute(handle, fusePlanDesc, inputDesc, input, outputDesc, output, args); });
}

miopenStatus_t miopenExecuteFusionPlan_v2(miopenHandle_t handle,
                                          miopenFusionPlanDescriptor_t fusePlanDesc,
                                          miopenTensorDescriptor_t inputDesc, const void* input,
                                          miopenTensorDescriptor_t outputDesc, void* output,
                                          miopenOperatorArgs_t args, void* workspace,
                                          size_t workspaceSize) {
  return guard(__func__, [&] {
    require(workspace != nullptr || workspaceSize == 0, miopenStatusBadParm,
            "workspace is NULL, but workspaceSize is {}", workspaceSize);
    execute(handle, fusePlanDesc, inputDesc, input, outputDesc, output, args);
  });
}
