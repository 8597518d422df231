/* SPDX-License-Identifier: MIT */
#ifndef MIOPEN_GUARD_MIOPEN_H_
#define MIOPEN_GUARD_MIOPEN_H_

/* MIOpen's interface over fuseplan: a program written for MIOpen's fusion API is compiled with
 *
 *     -I<prefix>/include/fuseplan ... -lfuseplan_miopen
 *
 * (or find_package(fuseplan), fuseplan::miopen, or pkg-config fuseplan_miopen) and runs, on the CPU
 * with host pointers unless FUSEPLAN_DEVICE says otherwise. Names, argument order, values, sizes
 * and the meaning of each call are MIOpen's; where MIOpen gives NaN, crashes or loses precision,
 * this does not. Valid in C99 and C++.
 *
 *   descriptors.h   status, handles, descriptors
 *   fusion.h        fusion plans
 *   discrete.h      single operations
 *   unsupported.h   what programs link but this library does not do: miopenStatusNotImplemented
 *
 * Environment: FUSEPLAN_DEVICE; FUSEPLAN_COMPAT_REFUSE=1 makes every miopenCompileFusionPlan answer
 * miopenStatusUnsupportedOp, to test a program's other path; FUSEPLAN_COMPAT_QUIRKS=0 gives POWER
 * and ABS their mathematical meaning where MIOpen's differs (POWER is 0 for a base up to 1e-6, its
 * derivative leaves out dy; that of ABS is -dy at 0). MIOPEN_* variables with a counterpart in
 * fuseplan are taken; the others have no effect and are logged once. All are read when the
 * process creates its first handle. */

#include "config.h"
#include "descriptors.h"
#include "discrete.h"
#include "export.h"
#include "fusion.h"
#include "types.h"
#include "unsupported.h"
#include "version.h"

#endif /* MIOPEN_GUARD_MIOPEN_H_ */
