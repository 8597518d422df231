// SPDX-License-Identifier: MIT
// Functions that programs link and do not call. Their parameters do not matter to them or to the
// calling convention, so this file does not see their declarations.
#include "fuseplan/miopen/types.h"

namespace fuseplan::miopen {
miopenStatus_t not_implemented(const char* function);
}

#define FUSEPLAN_MIOPEN_STUB(name)                \
  extern "C" MIOPEN_EXPORT miopenStatus_t name(); \
  extern "C" miopenStatus_t name() { return fuseplan::miopen::not_implemented(#name); }
#include "miopen/stubs.def"
#undef FUSEPLAN_MIOPEN_STUB
