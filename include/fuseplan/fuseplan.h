/* SPDX-License-Identifier: MIT */
#ifndef FUSEPLAN_FUSEPLAN_H
#define FUSEPLAN_FUSEPLAN_H

/* fuseplan runs a short chain of neural-network operations as one kernel.
 *
 * The life of a plan, and where each step is described:
 *
 *   handle.h       a handle is a device with its settings     fuseplanCreate
 *   tensor.h       descriptors say what memory holds          fuseplanSet4dTensorDescriptor
 *   convolution.h  ... and what convolutions do               fuseplanInitConvolutionDescriptor
 *   plan.h         ops are appended, shapes are checked       fuseplanCreateOpConvForward
 *   query.h        is it one kernel, and if not, why          fuseplanQueryFusionSupport
 *   plan.h         a plan is compiled once for a handle       fuseplanCompilePlan
 *   args.h         the pointers and scalars of each op        fuseplanSetOpArgsConvForward
 *   args.h         the plan runs, as often as you like        fuseplanExecutePlan
 *   cache.h        kernels are kept for other processes       fuseplanCacheGetStatistics
 *
 * Rules that hold for every function, and are not repeated beside each:
 *
 * Statuses. Every function returns a fuseplanStatus_t, except the two that return error text.
 * fuseplanStatusSuccess is 0. On any other status nothing has changed, outputs are untouched unless
 * said otherwise, and fuseplanGetLastErrorMessage() says what was wrong, names the argument, and
 * says what was expected. The library never prints unless asked to log, never aborts or exits,
 * installs no signal handler and lets no C++ exception out.
 *
 * Objects. Every fuseplan*_t object is a checked token that is never dereferenced: NULL, a
 * destroyed object, one of another type, or any other number gives fuseplanStatusBadParm. Whoever
 * calls a fuseplanCreate* function owns the result and calls the matching fuseplanDestroy*, in any
 * order: no object keeps another alive, and none becomes invalid because another is gone, except
 * that the ops of a plan end with it. An object may be destroyed while another thread is inside a
 * call that uses it; its memory is released when that call returns.
 *
 * Copies. Descriptors, scalars and text are read during the call only. Tensor memory (inputs,
 * weights, parameters, outputs) belongs to the caller; each function says until when it must stay
 * valid. "Device pointers" point to host memory on a CPU handle, and to memory of the handle's
 * device on a GPU handle; all other pointers are to host memory.
 *
 * Memory. fuseplanStatusAllocFailed may come from any function, and is not listed beside each.
 *
 * Threads. Any function may be called from any thread. Threads may use different objects at the
 * same time, and read one object at the same time: descriptors, queries, fuseplanExecutePlan on one
 * compiled plan, fuseplanCompilePlan on one finished plan. Changing an object (Set*, Init*,
 * CreateOp*) while another thread uses it is the caller's to prevent. Callbacks say what they
 * allow.
 *
 * Lists. `requestCount, returnedCount, entries`: writes at most requestCount entries and stores in
 * *returnedCount how many. With `entries` NULL or requestCount 0 it stores how many there are.
 * requestCount below 0 is fuseplanStatusInvalidValue.
 *
 * Text. `char* text, size_t* size`: *size holds the bytes available at `text` and receives the
 * bytes needed, terminating NUL included. `text` NULL asks for the size alone. Too small:
 * fuseplanStatusInvalidValue, with *size set and nothing written.
 *
 * Growing structs start with `size_t structSize`, which the caller sets to sizeof the struct before
 * the call (in an array: in the first entry; entries are that far apart). A library newer than the
 * program fills only what the program knows, an older one zeroes the rest.
 *
 * Names, argument order and enumerator values equal those of MIOpen's fusion API wherever MIOpen
 * has them: replace FusionPlanDescriptor_t by Plan_t, FusionOpDescriptor_t by Op_t, FusionPlan by
 * Plan, and miopen by fuseplan. Ops for training take descriptors besides, at the end, and backward
 * ones are appended in the order in which the gradient passes them, which is not MIOpen's.
 */

#include "fuseplan/args.h"
#include "fuseplan/cache.h"
#include "fuseplan/convolution.h"
#include "fuseplan/handle.h"
#include "fuseplan/plan.h"
#include "fuseplan/query.h"
#include "fuseplan/tensor.h"
#include "fuseplan/types.h"

#endif /* FUSEPLAN_FUSEPLAN_H */
