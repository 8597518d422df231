/* SPDX-License-Identifier: MIT */
/* A library with a name of the CUDA driver's that another part of it calls, as a real one may. */

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuDriverGetVersion(int* version) {
  *version = 77;
  return 0;
}

EXPORT int elsewhere_version(void) {
  int version = 0;
  (void)cuDriverGetVersion(&version);
  return version;
}
