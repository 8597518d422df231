// SPDX-License-Identifier: MIT
#include "fuseplan/plan.h"

#include "api/guard.hpp"
#include "api/modes.hpp"
#include "api/objects.hpp"
#include "plan/row_form.hpp"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

void require_ops(const Plan& plan) {
  require(plan.op_count() > 0, Status::BadParm, "the plan has no op yet");
}

const ConvOp& convolution_of(const Plan& plan) {
  const ConvOp* conv = plan.op_count() == 0 ? nullptr : std::get_if<ConvOp>(&plan.op(0));
  require(conv != nullptr, Status::BadParm, "the plan has no convolution");
  return *conv;
}

// What a plan may start from is what the ops take, so one of them is asked.
void check_input(const Tensor& input) { (void)op_output(ActivationOp{Activation::PASTHRU}, input); }

fuseplanOp_t make_op(Plan& plan, OpBody body) {
  const char* kind = kind_of(body);
  const auto* training = std::get_if<NormTrainingOp>(&body);
  const auto op = create<fuseplanOp_t>(
      OpObject{plan.op_count(), kind, training != nullptr && training->running});
  try {
    plan.append(std::move(body));
  } catch (...) {
    destroy(op, "op");
    throw;
  }
  return op;
}

void append(PlanObject& object, fuseplanOp_t* op, const char* name, OpBody body) {
  required(op, name);
  object.ops.reserve(object.ops.size() + 1);
  object.ops.push_back(make_op(object.plan, std::move(body)));
  *op = object.ops.back();
}

// What the plan's next op reads.
Tensor value_of(const Plan& plan) {
  return plan.op_count() == 0 ? plan.input() : plan.output_of(plan.op_count() - 1);
}

Tensor source_of(const Plan& plan, fuseplanTensorDescriptor_t descriptor) {
  return descriptor == nullptr ? value_of(plan) : tensor_of(descriptor, "xDesc");
}

Tensor parameters_of(const Plan& plan, NormMode mode, fuseplanTensorDescriptor_t descriptor,
                     std::string_view name = "bnScaleBiasDesc") {
  return descriptor == nullptr ? norm_parameters(mode, value_of(plan))
                               : tensor_of(descriptor, name);
}

DynamicDims dynamic_dims_of(int bits) {
  constexpr int kAll = fuseplanDimBatch | fuseplanDimDepth | fuseplanDimHeight | fuseplanDimWidth;
  require((bits & ~kAll) == 0, Status::InvalidValue,
          "dims is {:#x}, expected fuseplanDynamicDim_t bits only", bits);
  return {(bits & fuseplanDimBatch) != 0, (bits & fuseplanDimDepth) != 0,
          (bits & fuseplanDimHeight) != 0, (bits & fuseplanDimWidth) != 0};
}

std::vector<fuseplanConvFwdAlgorithm_t> algorithms_of(const Plan& plan) {
  const Problem problem = row_form(plan.problem());
  const SplitChain chain = optimize(lower(problem), {});
  const DeviceId cpu = find_device("cpu");
  const Traits traits = cpu.backend->traits(cpu.index);
  std::vector<fuseplanConvFwdAlgorithm_t> algorithms;
  for (const Solver* solver : select_solvers({problem, chain, traits}, {}).accepted) {
    const auto algorithm = static_cast<fuseplanConvFwdAlgorithm_t>(solver->algorithm());
    if (solver->algorithm() != Algorithm::none &&
        std::find(algorithms.begin(), algorithms.end(), algorithm) == algorithms.end())
      algorithms.push_back(algorithm);
  }
  return algorithms;
}

}  // namespace

fuseplanStatus_t fuseplanCreatePlan(fuseplanPlan_t* plan, fuseplanFusionDirection_t fuseDirection,
                                    fuseplanTensorDescriptor_t inputDesc) {
  return guard(__func__, [&] {
    required(plan, "plan");
    const Tensor input = tensor_of(inputDesc, "inputDesc");
    require(fuseDirection != fuseplanHorizontalFusion, Status::UnsupportedOp,
            "fuseDirection is fuseplanHorizontalFusion; only vertical fusion is supported");
    require(fuseDirection == fuseplanVerticalFusion, Status::BadParm,
            "fuseDirection is {}, expected fuseplanVerticalFusion (0)",
            static_cast<int>(fuseDirection));
    check_input(input);
    *plan = create<fuseplanPlan_t>(input);
  });
}

fuseplanStatus_t fuseplanDestroyPlan(fuseplanPlan_t plan) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    destroy(plan, "plan");
    for (fuseplanOp_t op : object->ops) destroy(op, "op");
  });
}

fuseplanStatus_t fuseplanCreateOpConvForward(fuseplanPlan_t plan, fuseplanOp_t* convOp,
                                             fuseplanConvolutionDescriptor_t convDesc,
                                             fuseplanTensorDescriptor_t wDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const Conv conv = pin(convDesc, "convDesc")->conv;
    append(*object, convOp, "convOp", ConvOp{conv, tensor_of(wDesc, "wDesc")});
  });
}

fuseplanStatus_t fuseplanCreateOpBiasForward(fuseplanPlan_t plan, fuseplanOp_t* biasOp,
                                             fuseplanTensorDescriptor_t bDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, biasOp, "biasOp", BiasOp{tensor_of(bDesc, "bDesc")});
  });
}

fuseplanStatus_t fuseplanCreateOpBatchNormInference(
    fuseplanPlan_t plan, fuseplanOp_t* bnOp, fuseplanBatchNormMode_t bn_mode,
    fuseplanTensorDescriptor_t bnScaleBiasMeanVarDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(
        *object, bnOp, "bnOp",
        NormOp{norm_mode_of(bn_mode), tensor_of(bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc")});
  });
}

fuseplanStatus_t fuseplanCreateOpActivationForward(fuseplanPlan_t plan, fuseplanOp_t* activFwdOp,
                                                   fuseplanActivationMode_t mode) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, activFwdOp, "activFwdOp", ActivationOp{activation_of(mode)});
  });
}

fuseplanStatus_t fuseplanCreateOpTensorAdd(fuseplanPlan_t plan, fuseplanOp_t* addOp,
                                           fuseplanTensorDescriptor_t otherDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, addOp, "addOp", AddOp{tensor_of(otherDesc, "otherDesc")});
  });
}

fuseplanStatus_t fuseplanCreateOpScaleShift(fuseplanPlan_t plan, fuseplanOp_t* scaleOp,
                                            fuseplanTensorDescriptor_t scaleShiftDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, scaleOp, "scaleOp", ScaleShiftOp{tensor_of(scaleShiftDesc, "scaleShiftDesc")});
  });
}

fuseplanStatus_t fuseplanCreateOpBatchNormForward(fuseplanPlan_t plan, fuseplanOp_t* bnFwdOp,
                                                  fuseplanBatchNormMode_t bn_mode,
                                                  bool runningMeanVariance,
                                                  fuseplanTensorDescriptor_t bnScaleBiasDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const NormMode mode = norm_mode_of(bn_mode);
    append(*object, bnFwdOp, "bnFwdOp",
           NormTrainingOp{mode, parameters_of(object->plan, mode, bnScaleBiasDesc),
                          runningMeanVariance});
  });
}

fuseplanStatus_t fuseplanCreateOpBatchNormBackward(fuseplanPlan_t plan, fuseplanOp_t* bnBwdOp,
                                                   fuseplanBatchNormMode_t bn_mode,
                                                   fuseplanTensorDescriptor_t xDesc,
                                                   fuseplanTensorDescriptor_t bnScaleBiasDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const NormMode mode = norm_mode_of(bn_mode);
    append(*object, bnBwdOp, "bnBwdOp",
           NormBackwardOp{mode, parameters_of(object->plan, mode, bnScaleBiasDesc),
                          source_of(object->plan, xDesc)});
  });
}

fuseplanStatus_t fuseplanCreateOpActivationBackward(fuseplanPlan_t plan, fuseplanOp_t* activBwdOp,
                                                    fuseplanActivationMode_t mode,
                                                    fuseplanTensorDescriptor_t xDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, activBwdOp, "activBwdOp",
           ActivationBackwardOp{activation_of(mode), source_of(object->plan, xDesc)});
  });
}

fuseplanStatus_t fuseplanCreateOpStatistics(fuseplanPlan_t plan, fuseplanOp_t* statisticsOp,
                                            fuseplanTensorDescriptor_t statisticsDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    append(*object, statisticsOp, "statisticsOp",
           StatisticsOp{
               parameters_of(object->plan, NormMode::spatial, statisticsDesc, "statisticsDesc")});
  });
}

fuseplanStatus_t fuseplanPlanGetOp(fuseplanPlan_t plan, int op_idx, fuseplanOp_t* op) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    required(op, "op");
    require_ops(object->plan);
    (void)object->plan.op(op_idx);
    *op = object->ops[static_cast<std::size_t>(op_idx)];
  });
}

fuseplanStatus_t fuseplanPlanGetOpCount(fuseplanPlan_t plan, int* opCount) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    *required(opCount, "opCount") = object->plan.op_count();
  });
}

fuseplanStatus_t fuseplanPlanGetOpOutputDescriptor(fuseplanPlan_t plan, int op_idx,
                                                   fuseplanTensorDescriptor_t outputDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const auto output = pin(outputDesc, "outputDesc");
    require_ops(object->plan);
    output->tensor = object->plan.output_of(op_idx);
  });
}

fuseplanStatus_t fuseplanPlanSetOutputDescriptor(fuseplanPlan_t plan,
                                                 fuseplanTensorDescriptor_t outputDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const Tensor output = tensor_of(outputDesc, "outputDesc");
    require_ops(object->plan);
    const Tensor derived = object->plan.output_of(object->plan.op_count() - 1);
    require(output.lens == derived.lens, Status::BadParm, "outputDesc is {}, expected {}",
            dims_text(output.lens), dims_text(derived.lens));
    object->plan.set_output(output);
  });
}

fuseplanStatus_t fuseplanPlanGetOutputDescriptor(fuseplanPlan_t plan,
                                                 fuseplanTensorDescriptor_t outputDesc) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    const auto output = pin(outputDesc, "outputDesc");
    require_ops(object->plan);
    output->tensor = object->plan.output();
  });
}

fuseplanStatus_t fuseplanPlanSetDynamicDims(fuseplanPlan_t plan, int dims) {
  return guard(__func__, [&] { pin(plan, "plan")->plan.set_dynamic(dynamic_dims_of(dims)); });
}

fuseplanStatus_t fuseplanPlanSetSolver(fuseplanPlan_t plan, const char* solver) {
  return guard(__func__,
               [&] { pin(plan, "plan")->plan.set_solver(solver == nullptr ? "" : solver); });
}

fuseplanStatus_t fuseplanPlanConvolutionGetAlgo(fuseplanPlan_t plan, int requestAlgoCount,
                                                int* returnedAlgoCount,
                                                fuseplanConvFwdAlgorithm_t* returnedAlgos) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    (void)convolution_of(object->plan);
    required(returnedAlgoCount, "returnedAlgoCount");
    write_list(requestAlgoCount, returnedAlgoCount, returnedAlgos, algorithms_of(object->plan));
  });
}

fuseplanStatus_t fuseplanPlanConvolutionSetAlgo(fuseplanPlan_t plan,
                                                fuseplanConvFwdAlgorithm_t algo) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    (void)convolution_of(object->plan);
    object->plan.set_algorithm(algorithm_of(algo));
  });
}

fuseplanStatus_t fuseplanPlanGetWorkSpaceSize(fuseplanHandle_t handle, fuseplanPlan_t plan,
                                              size_t* workSpaceSize,
                                              fuseplanConvFwdAlgorithm_t algo) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    required(workSpaceSize, "workSpaceSize");
    (void)algorithm_of(algo);
    *workSpaceSize = 0;
  });
}

fuseplanStatus_t fuseplanCompilePlan(fuseplanHandle_t handle, fuseplanPlan_t plan) {
  return guard(__func__, [&] {
    const auto handle_object = pin(handle, "handle");
    const auto plan_object = pin(plan, "plan");
    handle_object->handle.check_process();
    plan_object->plan.compile(handle_object->handle);
  });
}

fuseplanStatus_t fuseplanPlanToString(fuseplanPlan_t plan, char* text, size_t* size) {
  return guard(__func__, [&] {
    const auto object = pin(plan, "plan");
    require_ops(object->plan);
    write_text(text, size, to_text(object->plan.problem()));
  });
}

fuseplanStatus_t fuseplanCreatePlanFromString(fuseplanPlan_t* plan, const char* text) {
  return guard(__func__, [&] {
    required(plan, "plan");
    const Problem problem = parse_problem(required(text, "text"));
    check_input(problem.input());
    const auto created = create<fuseplanPlan_t>(problem.input());
    try {
      const auto object = pin(created, "plan");
      for (const Op& op : problem.ops()) {
        fuseplanOp_t ignored;
        append(*object, &ignored, "op", op.body);
      }
      if (problem.output() != object->plan.output()) object->plan.set_output(problem.output());
    } catch (...) {
      (void)fuseplanDestroyPlan(created);
      throw;
    }
    *plan = created;
  });
}
