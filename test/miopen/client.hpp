// SPDX-License-Identifier: MIT
#pragma once

#include <miopen/miopen.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "support/tolerance.hpp"

// What the client-style programs share: they end at the first thing that goes wrong, count what ran
// fused, and say in the end what they expected of that. FUSEPLAN_COMPAT_REFUSE=1 sends them all the
// other way.
namespace fuseplan::test {

#define CLIENT_CHECK(call)                                                                    \
  do {                                                                                        \
    const miopenStatus_t client_status = (call);                                              \
    if (client_status != miopenStatusSuccess) {                                               \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                             \
                   miopenGetErrorString(client_status), fuseplanMiopenGetLastErrorMessage()); \
      std::exit(EXIT_FAILURE);                                                                \
    }                                                                                         \
  } while (0)

#define CLIENT_EXPECT(condition)                                           \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(EXIT_FAILURE);                                             \
    }                                                                      \
  } while (0)

/// Plans that compiled and executions that were fused.
struct Counts {
  std::atomic<int> compiled = 0, fused = 0, separate = 0;
};
inline Counts counts;

/// FUSEPLAN_COMPAT_REFUSE is set: nothing may have run fused.
inline bool refusing() {
  const char* refuse = std::getenv("FUSEPLAN_COMPAT_REFUSE");
  return refuse != nullptr && std::string_view(refuse) == "1";
}

inline void expect_right(const HostTensor& actual, const ReferenceResult& expected,
                         const char* what) {
  const Comparison comparison = compare(actual, expected);
  if (comparison.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, comparison.describe().c_str());
  std::exit(EXIT_FAILURE);
}

inline miopenTensorDescriptor_t new_desc(const HostTensor& tensor) {
  miopenTensorDescriptor_t desc;
  const std::vector<int> lens(tensor.dims().begin(), tensor.dims().end()),
      strides(tensor.strides().begin(), tensor.strides().end());
  CLIENT_CHECK(miopenCreateTensorDescriptor(&desc));
  CLIENT_CHECK(miopenSetTensorDescriptor(desc, static_cast<miopenDataType_t>(tensor.type()),
                                         static_cast<int>(lens.size()), lens.data(),
                                         strides.data()));
  return desc;
}

inline int report(const char* name, int compiled, int fused) {
  std::printf("%s: %d plans compiled, %d fused executions, %d op by op\n", name,
              counts.compiled.load(), counts.fused.load(), counts.separate.load());
  CLIENT_EXPECT(counts.compiled == (refusing() ? 0 : compiled));
  CLIENT_EXPECT(counts.fused == (refusing() ? 0 : fused));
  CLIENT_EXPECT(counts.separate > 0 || !refusing());
  return EXIT_SUCCESS;
}

}  // namespace fuseplan::test
