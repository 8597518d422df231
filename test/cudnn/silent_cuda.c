/* SPDX-License-Identifier: MIT */
/* Stands in for libcuda.so.1 while cuDNN builds plans for a device that is not there: there is no
 * device, modules load without being looked at, and nothing ever runs. */
#include <stddef.h>

#define API __attribute__((visibility("default")))

static char something[4096];

static int give(void** place) {
  *place = something;
  return 0;
}
static int give_number(int* place, int number) {
  *place = number;
  return 0;
}

API int cuInit(unsigned flags) {
  (void)flags;
  return 100; /* no device */
}
API int cuDeviceGetCount(int* count) {
  *count = 0;
  return 100;
}
API int cuDriverGetVersion(int* version) { return give_number(version, 13000); }
API int cuCtxGetCurrent(void** context) {
  *context = NULL;
  return 0;
}
API int cuGetErrorName(int code, const char** text) {
  (void)code;
  *text = "an error";
  return 0;
}
API int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }

API int cuLibraryLoadData(void** library) { return give(library); }
API int cuLibraryGetKernel(void** kernel) { return give(kernel); }
API int cuModuleLoadData(void** module) { return give(module); }
API int cuModuleLoadDataEx(void** module) { return give(module); }
API int cuModuleLoadFatBinary(void** module) { return give(module); }
API int cuModuleGetFunction(void** function) { return give(function); }
API int cuModuleGetGlobal_v2(void** place, size_t* bytes) {
  if (bytes != NULL) *bytes = 8;
  return give(place);
}
API int cuKernelGetAttribute(int* value) { return give_number(value, 0); }
API int cuFuncGetAttribute(int* value) { return give_number(value, 0); }
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count) { return give_number(count, 1); }
API int cuOccupancyMaxPotentialClusterSize(int* size) { return give_number(size, 8); }

#define SUCCEEDS(name) \
  API int name(void) { return 0; }
SUCCEEDS(cuCtxGetDevice)
SUCCEEDS(cuCtxGetLimit)
SUCCEEDS(cuCtxPopCurrent)
SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuDeviceGet)
SUCCEEDS(cuDeviceGetAttribute)
SUCCEEDS(cuDevicePrimaryCtxRelease)
SUCCEEDS(cuDevicePrimaryCtxReset)
SUCCEEDS(cuDevicePrimaryCtxRetain)
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuLaunchKernel)
SUCCEEDS(cuLaunchKernelEx)
SUCCEEDS(cuLibraryLoadFromFile)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuLinkAddData)
SUCCEEDS(cuLinkAddData_v2)
SUCCEEDS(cuLinkAddFile_v2)
SUCCEEDS(cuLinkComplete)
SUCCEEDS(cuLinkCreate)
SUCCEEDS(cuLinkCreate_v2)
SUCCEEDS(cuLinkDestroy)
SUCCEEDS(cuMemcpyDtoH_v2)
SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuStreamGetCtx)
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuTensorMapEncodeTiled)
