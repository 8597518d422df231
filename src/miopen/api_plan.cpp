// SPDX-License-Identifier: MIT
#include "miopen/plan.hpp"
#include "miopen/settings.hpp"

using namespace fuseplan::miopen;

namespace {

void append(miopenFusionPlanDescriptor_t plan, miopenFusionOpDescriptor_t* op, OpRequest request) {
  required(op, "op");
  const auto object = find(plan, "fusePlanDesc");
  const std::unique_lock lock(object->mutex);
  if (request.kind == FusionOp::conv && object->ops.empty())
    request.convolution.check_operands(object->input, request.tensor);
  object->ops.reserve(object->ops.size() + 1);
  object->op_tokens.reserve(object->op_tokens.size() + 1);
  const auto token = publish<miopenFusionOpDescriptor_t>(std::make_shared<OpHandle>(
      OpHandle{static_cast<int>(object->ops.size()), request.kind, request.running}));
  object->op_tokens.push_back(token);
  object->ops.push_back(std::move(request));
  object->ready.clear();
  *op = token;
}

void append_convolution(miopenFusionPlanDescriptor_t plan, miopenFusionOpDescriptor_t* op,
                        miopenConvolutionDescriptor_t convolution, miopenTensorDescriptor_t w) {
  append(plan, op,
         {.kind = FusionOp::conv,
          .convolution = *find(convolution, "convDesc"),
          .tensor = shape_of(w, "wDesc")});
}

bool is_ready(Plan& plan, miopenHandle_t handle) {
  const std::shared_lock lock(plan.mutex);
  return plan.ready.contains(handle);
}

// Whatever keeps a plan from being made is a plan that is not supported; only a lack of memory or a
// defect is another matter.
Status refusal(Status status) {
  return status == Status::AllocFailed || status == Status::InternalError ? status
                                                                          : Status::UnsupportedOp;
}

std::shared_ptr<const Ready> make_ready(const std::shared_ptr<Handle>& handle, const Plan& plan,
                                        const std::vector<OpRequest>& ops) try {
  auto ready = std::make_shared<Ready>();
  ready->handle = handle;
  ready->translation = translate(plan.direction, plan.input, ops);
  ready->chain = handle->compiled(ready->translation.chain);
  return ready;
} catch (const Error& error) {
  throw Error(refusal(error.status()), error.what());
}

void compile(miopenHandle_t handle, miopenFusionPlanDescriptor_t plan) {
  const auto handle_object = find(handle, "handle");
  const auto object = find(plan, "fusePlanDesc");
  require(!settings().refuse, miopenStatusUnsupportedOp,
          "FUSEPLAN_COMPAT_REFUSE is set: no plan compiles");
  if (is_ready(*object, handle)) return;
  std::vector<OpRequest> ops;
  {
    const std::shared_lock lock(object->mutex);
    ops = object->ops;
  }
  auto ready = make_ready(handle_object, *object, ops);
  const std::unique_lock lock(object->mutex);
  if (object->ops.size() != ops.size()) return;  // appended to meanwhile: not compiled
  std::erase_if(object->ready, [](const auto& entry) { return entry.second->handle.expired(); });
  object->ready[handle] = std::move(ready);
}

}  // namespace

Plan::~Plan() {
  for (const auto token : op_tokens) erase_object(reinterpret_cast<Token>(token), Tag::op, "op");
}

miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t* fusePlanDesc,
                                      miopenFusionDirection_t fuseDirection,
                                      miopenTensorDescriptor_t inputDesc) {
  return guard(__func__, [&] {
    required(fusePlanDesc, "fusePlanDesc");
    const auto plan = std::make_shared<Plan>();
    plan->direction = fuseDirection;
    plan->input = shape_of(inputDesc, "inputDesc");
    *fusePlanDesc = publish<miopenFusionPlanDescriptor_t>(plan);
  });
}

miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t fusePlanDesc) {
  return guard(__func__, [&] { destroy(fusePlanDesc, "fusePlanDesc"); });
}

miopenStatus_t miopenDestroyFusionPlanDescriptor(miopenFusionPlanDescriptor_t fusePlanDesc) {
  return guard(__func__, [&] { destroy(fusePlanDesc, "fusePlanDesc"); });
}

miopenStatus_t miopenCompileFusionPlan(miopenHandle_t handle,
                                       miopenFusionPlanDescriptor_t fusePlanDesc) {
  return guard(__func__, [&] { compile(handle, fusePlanDesc); });
}

miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t fusePlanDesc, int op_idx,
                                     miopenFusionOpDescriptor_t* op) {
  return guard(__func__, [&] {
    const auto object = find(fusePlanDesc, "fusePlanDesc");
    const std::shared_lock lock(object->mutex);
    const int count = static_cast<int>(object->op_tokens.size());
    require(op_idx >= 0 && op_idx < count, miopenStatusBadParm, "op_idx is {}, the plan has {} ops",
            op_idx, count);
    *required(op, "op") = object->op_tokens[static_cast<std::size_t>(op_idx)];
  });
}

miopenStatus_t miopenFusionPlanGetWorkSpaceSize(miopenHandle_t handle,
                                                miopenFusionPlanDescriptor_t fusePlanDesc,
                                                size_t* workSpaceSize, miopenConvFwdAlgorithm_t) {
  return guard(__func__, [&] {
    find(handle, "handle");
    find(fusePlanDesc, "fusePlanDesc");
    *required(workSpaceSize, "workSpaceSize") = 0;
  });
}

miopenStatus_t miopenFusionPlanConvolutionGetAlgo(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                  int requestAlgoCount, int* returnedAlgoCount,
                                                  miopenConvFwdAlgorithm_t* returnedAlgos) {
  return guard(__func__, [&] {
    constexpr miopenConvFwdAlgorithm_t kAlgorithms[] = {miopenConvolutionFwdAlgoDirect,
                                                        miopenConvolutionFwdAlgoWinograd};
    find(fusePlanDesc, "fusePlanDesc");
    required(returnedAlgoCount, "returnedAlgoCount");
    required(returnedAlgos, "returnedAlgos");
    int count = 0;
    while (count < 2 && count < requestAlgoCount) {
      returnedAlgos[count] = kAlgorithms[count];
      ++count;
    }
    *returnedAlgoCount = count;
  });
}

miopenStatus_t miopenFusionPlanConvolutionSetAlgo(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                  miopenConvFwdAlgorithm_t) {
  return guard(__func__, [&] { find(fusePlanDesc, "fusePlanDesc"); });
}

miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                         miopenFusionOpDescriptor_t* convOp,
                                         miopenConvolutionDescriptor_t convDesc,
                                         miopenTensorDescriptor_t wDesc) {
  return guard(__func__, [&] { append_convolution(fusePlanDesc, convOp, convDesc, wDesc); });
}

miopenStatus_t miopenCreateOpConvForwardAlgo(miopenFusionPlanDescriptor_t fusePlanDesc,
                                             miopenFusionOpDescriptor_t* convOp,
                                             miopenConvolutionDescriptor_t convDesc,
                                             miopenConvFwdAlgorithm_t,
                                             miopenTensorDescriptor_t wDesc) {
  return guard(__func__, [&] { append_convolution(fusePlanDesc, convOp, convDesc, wDesc); });
}

miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                         miopenFusionOpDescriptor_t* biasOp,
                                         miopenTensorDescriptor_t bDesc) {
  return guard(__func__, [&] {
    append(fusePlanDesc, biasOp, {.kind = FusionOp::bias, .tensor = shape_of(bDesc, "bDesc")});
  });
}

miopenStatus_t miopenCreateOpActivationForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                               miopenFusionOpDescriptor_t* activFwdOp,
                                               miopenActivationMode_t mode) {
  return guard(__func__, [&] {
    append(fusePlanDesc, activFwdOp, {.kind = FusionOp::activation, .mode = mode});
  });
}

miopenStatus_t miopenCreateOpActivationBackward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                miopenFusionOpDescriptor_t* activBwdOp,
                                                miopenActivationMode_t mode) {
  return guard(__func__, [&] {
    append(fusePlanDesc, activBwdOp, {.kind = FusionOp::activation_backward, .mode = mode});
  });
}

miopenStatus_t miopenCreateOpBatchNormInference(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                miopenFusionOpDescriptor_t* bnOp,
                                                miopenBatchNormMode_t bn_mode,
                                                miopenTensorDescriptor_t bnScaleBiasMeanVarDesc) {
  return guard(__func__, [&] {
    append(fusePlanDesc, bnOp,
           {.kind = FusionOp::norm_inference,
            .tensor = shape_of(bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc"),
            .mode = bn_mode});
  });
}

miopenStatus_t miopenCreateOpBatchNormForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                              miopenFusionOpDescriptor_t* bnFwdOp,
                                              miopenBatchNormMode_t bn_mode,
                                              bool runningMeanVariance) {
  return guard(__func__, [&] {
    append(fusePlanDesc, bnFwdOp,
           {.kind = FusionOp::norm_forward, .mode = bn_mode, .running = runningMeanVariance});
  });
}

miopenStatus_t miopenCreateOpBatchNormBackward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                               miopenFusionOpDescriptor_t* bnBwdOp,
                                               miopenBatchNormMode_t bn_mode) {
  return guard(__func__, [&] {
    append(fusePlanDesc, bnBwdOp, {.kind = FusionOp::norm_backward, .mode = bn_mode});
  });
}
