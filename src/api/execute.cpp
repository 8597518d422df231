// SPDX-License-Identifier: MIT
#include "api/guard.hpp"
#include "api/modes.hpp"
#include "api/objects.hpp"
#include "fuseplan/args.h"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

void check_workspace(const void* workspace, std::size_t size, const char* size_name) {
  require(workspace != nullptr || size == 0, Status::BadParm, "workspace is NULL, but {} is {}",
          size_name, size);
}

void execute(fuseplanHandle_t handle, fuseplanPlan_t plan, fuseplanTensorDescriptor_t input_desc,
             const void* input, fuseplanTensorDescriptor_t output_desc, void* output,
             fuseplanOperatorArgs_t args) {
  const auto handle_object = pin(handle, "handle");
  const auto plan_object = pin(plan, "plan");
  const auto in = pin(input_desc, "inputDesc");
  const auto out = pin(output_desc, "outputDesc");
  const auto args_object = pin(args, "args");
  plan_object->plan.compiled(handle_object->handle)
      ->execute(handle_object->handle, in->get("inputDesc"), required(input, "input"),
                out->get("outputDesc"), required(output, "output"), args_object->args);
}

/// The parameters of the one-shot call that decide its plan, and those each call may change.
struct OneShot {
  Tensor x, w, y;
  Conv conv;
  ActivationObject activation;
  std::optional<Tensor> z, bias;

  Problem problem() const {
    std::vector<Op> ops{{ConvOp{conv, w}, {}}};
    if (z) ops.push_back({AddOp{*z}, {}});
    if (bias) ops.push_back({BiasOp{*bias}, {}});
    ops.push_back({ActivationOp{activation.mode}, {}});
    return Problem(x, std::move(ops), y);
  }

  void set(Args& args, const void* alpha1, const void* w_data, const void* alpha2,
           const void* z_data, const void* bias_data) const {
    const auto scalar = [](const void* pointer) {
      return pointer == nullptr ? 1.0f : *static_cast<const float*>(pointer);
    };
    int op = 0;
    args.set(op++, {.kind = "conv",
                    .alpha = scalar(alpha1),
                    .pointers = {{Role::weights, w_data}},
                    .scalars = {}});
    if (z)
      args.set(op++, {.kind = "add",
                      .pointers = {{Role::other, z_data}},
                      .scalars = {{Role::add_scale, scalar(alpha2)}}});
    if (bias)
      args.set(op++, {.kind = "bias", .pointers = {{Role::bias, bias_data}}, .scalars = {}});
    args.set(op, {.kind = "activation",
                  .pointers = {},
                  .scalars = {{Role::activ_alpha, activation.alpha},
                              {Role::activ_beta, activation.beta},
                              {Role::activ_gamma, activation.gamma}}});
  }
};

/// A tensor that is left out by a NULL descriptor or NULL data.
std::optional<Tensor> optional_tensor(fuseplanTensorDescriptor_t descriptor, const void* data,
                                      const char* name) {
  if (descriptor == nullptr || data == nullptr) return std::nullopt;
  return tensor_of(descriptor, name);
}

}  // namespace

fuseplanStatus_t fuseplanExecutePlan(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                     fuseplanTensorDescriptor_t inputDesc, const void* input,
                                     fuseplanTensorDescriptor_t outputDesc, void* output,
                                     fuseplanOperatorArgs_t args) {
  return guard(__func__,
               [&] { execute(handle, plan, inputDesc, input, outputDesc, output, args); });
}

fuseplanStatus_t fuseplanExecutePlan_v2(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                        fuseplanTensorDescriptor_t inputDesc, const void* input,
                                        fuseplanTensorDescriptor_t outputDesc, void* output,
                                        fuseplanOperatorArgs_t args, void* workspace,
                                        size_t workspaceSize) {
  return guard(__func__, [&] {
    check_workspace(workspace, workspaceSize, "workspaceSize");
    execute(handle, plan, inputDesc, input, outputDesc, output, args);
  });
}

fuseplanStatus_t fuseplanConvolutionBiasActivationForward(
    fuseplanHandle_t handle, const void* alpha1, fuseplanTensorDescriptor_t xDesc, const void* x,
    fuseplanTensorDescriptor_t wDesc, const void* w, fuseplanConvolutionDescriptor_t convDesc,
    fuseplanConvFwdAlgorithm_t algo, void* workspace, size_t workspaceSizeInBytes,
    const void* alpha2, fuseplanTensorDescriptor_t zDesc, const void* z,
    fuseplanTensorDescriptor_t biasDesc, const void* bias,
    fuseplanActivationDescriptor_t activationDesc, fuseplanTensorDescriptor_t yDesc, void* y) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    const OneShot call{tensor_of(xDesc, "xDesc"),
                       tensor_of(wDesc, "wDesc"),
                       tensor_of(yDesc, "yDesc"),
                       pin(convDesc, "convDesc")->conv,
                       *pin(activationDesc, "activationDesc"),
                       optional_tensor(zDesc, z, "zDesc"),
                       optional_tensor(biasDesc, bias, "biasDesc")};
    required(x, "x");
    required(w, "w");
    required(y, "y");
    check_workspace(workspace, workspaceSizeInBytes, "workspaceSizeInBytes");
    object->handle.check_process();
    const auto entry =
        object->one_shots.find_or_make(object->handle, call.problem(), algorithm_of(algo));
    auto args = entry->borrow_args();
    call.set(*args, alpha1, w, alpha2, z, bias);
    entry->plan().compiled(object->handle)->execute(object->handle, call.x, x, call.y, y, *args);
    entry->give_back(std::move(args));
  });
}
