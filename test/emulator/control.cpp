// SPDX-License-Identifier: MIT
// The tests' end of control.hpp.
#include "control.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace fuseplan::emulator {
namespace {

/// nullptr on a GPU, or on what is to be taken for one.
const Control* control() {
  static const Control* const found = []() -> const Control* {
    const char* path = std::getenv("FUSEPLAN_LIB_CUDA");
    if (path == nullptr || std::getenv("FUSEPLAN_TEST_DEVICE") != nullptr) return nullptr;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    const auto get =
        reinterpret_cast<const Control* (*)()>(dlsym(library, "fuseplan_emulator_control"));
    return get == nullptr ? nullptr : get();
  }();
  return found;
}

}  // namespace

#define FUSEPLAN_EMULATOR(result, name, parameters, arguments)          \
  result name parameters {                                              \
    using Answer = result;                                              \
    return control() == nullptr ? Answer() : control()->name arguments; \
  }
#include "control_functions.def"
#undef FUSEPLAN_EMULATOR

}  // namespace fuseplan::emulator
