/* SPDX-License-Identifier: MIT */
/* client_dlsym <libfuseplan_miopen.so>: a program that is linked to no MIOpen and resolves what it
 * needs when it runs. */
#include <dlfcn.h>
#include <math.h>
#include <miopen/miopen.h>
#include <stdio.h>
#include <string.h>

static void* library;

/* ISO C has no cast from data to functions; POSIX promises that the bits are the same. */
static void resolve(void* function, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return;
  }
  memcpy(function, &symbol, sizeof symbol);
}

#define RESOLVE(result, name, parameters) \
  result(*name) parameters = NULL;        \
  resolve(&name, "miopen" #name)

int main(int argc, char** argv) {
  static const float x[4] = {-1.0f, 0.5f, 2.0f, -3.0f};
  float y[4] = {0};
  miopenHandle_t handle;
  miopenTensorDescriptor_t desc;
  miopenFusionPlanDescriptor_t plan;
  miopenFusionOpDescriptor_t op;
  miopenOperatorArgs_t args;
  int i;
  library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) {
    fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: client_dlsym <library>");
    return 1;
  }
  {
    RESOLVE(miopenStatus_t, Create, (miopenHandle_t*));
    RESOLVE(miopenStatus_t, CreateTensorDescriptor, (miopenTensorDescriptor_t*));
    RESOLVE(miopenStatus_t, Set4dTensorDescriptor,
            (miopenTensorDescriptor_t, miopenDataType_t, int, int, int, int));
    RESOLVE(miopenStatus_t, CreateFusionPlan,
            (miopenFusionPlanDescriptor_t*, miopenFusionDirection_t, miopenTensorDescriptor_t));
    RESOLVE(miopenStatus_t, CreateOpActivationForward,
            (miopenFusionPlanDescriptor_t, miopenFusionOpDescriptor_t*, miopenActivationMode_t));
    RESOLVE(miopenStatus_t, CompileFusionPlan, (miopenHandle_t, miopenFusionPlanDescriptor_t));
    RESOLVE(miopenStatus_t, CreateOperatorArgs, (miopenOperatorArgs_t*));
    RESOLVE(miopenStatus_t, SetOpArgsActivForward,
            (miopenOperatorArgs_t, miopenFusionOpDescriptor_t, const void*, const void*, double,
             double, double));
    RESOLVE(miopenStatus_t, ExecuteFusionPlan,
            (miopenHandle_t, miopenFusionPlanDescriptor_t, miopenTensorDescriptor_t, const void*,
             miopenTensorDescriptor_t, void*, miopenOperatorArgs_t));
    if (Create(&handle) || CreateTensorDescriptor(&desc) ||
        Set4dTensorDescriptor(desc, miopenFloat, 1, 4, 1, 1) ||
        CreateFusionPlan(&plan, miopenVerticalFusion, desc) ||
        CreateOpActivationForward(plan, &op, miopenActivationTANH) ||
        CompileFusionPlan(handle, plan) || CreateOperatorArgs(&args) ||
        SetOpArgsActivForward(args, op, NULL, NULL, 1.0, 2.0, 0.0) ||
        ExecuteFusionPlan(handle, plan, desc, x, desc, y, args))
      return 1;
  }
  for (i = 0; i < 4; ++i)
    if (fabs(y[i] - 2 * tanh(x[i])) > 1e-5) return 1;
  /* Plans, args and handle are left alone: the library goes with them inside. */
  return dlclose(library);
}
