/* SPDX-License-Identifier: MIT */
#ifndef FUSEPLAN_FUSEPLAN_H
#define FUSEPLAN_FUSEPLAN_H

/* fuseplan runs a short chain of neural-network operations as one kernel.
 *
 * The life of a plan, and the header that describes each step:
 *
 *   handle.h       a handle stands for a device and its settings           fuseplanCreate
 *   tensor.h       descriptors say what memory holds fuseplanSet4dTensorDescriptor convolution.h
 * ... and what a convolution and an activation do         fuseplanInitConvolutionDescriptor plan.h
 * ops are appended to a plan; shapes are checked here     fuseplanCreateOpConvForward query.h is it
 * one kernel, by which solver, and if not, why      fuseplanQueryFusionSupport plan.h         the
 * plan is compiled once for each handle               fuseplanCompilePlan args.h         pointers
 * and scalars of each op                         fuseplanSetOpArgsConvForward args.h         ...
 * and the plan runs, as often as you like             fuseplanExecutePlan cache.h        what was
 * compiled is kept in a file for other processes fuseplanCacheGetStatistics
 *
 * Rules that hold for every function, and are not repeated beside each:
 *
 * Statuses. Every function returns a fuseplanStatus_t, except the two that return error text.
 *   fuseplanStatusSuccess is 0. On any other status nothing has changed, outputs are untouched
 *   unless said otherwise, and fuseplanGetLastErrorMessage() says what was wrong, names the
 *   argument, and says what was expected. The library never prints unless asked to log, never
 *   aborts or exits, installs no signal handler and lets no C++ exception out.
 *
 * Handles. Every fuseplan*_t object is a checked token, never dereferenced. NULL, a destroyed
 *   object, an object of another type or any other number gives fuseplanStatusBadParm. Whoever
 *   calls a fuseplanCreate* function owns the result and calls the matching fuseplanDestroy*, in
 * any order: no object keeps another alive, and none is invalid because another is gone, except
 * that the ops of a plan end with it. Destroying an object while another thread is inside a call
 * that uses it is allowed; its memory is released when that call returns.
 *
 * Copies. Descriptors, scalars and text are read during the call only. Tensor memory (inputs,
 *   weights, parameters, outputs) always belongs to the caller; each function says until when it
 *   must stay valid.
 *
 * Pointers marked "device pointer" are host memory on a CPU handle, and device memory of the
 *   handle's device on a GPU handle. All others are host memory.
 *
 * Allocation. fuseplanStatusAllocFailed may come from any function. Nothing else is said about it.
 *
 * Threads. Any function may be called from any thread. Two threads may use different objects at the
 *   same time, and may read the same object at the same time (descriptors, queries,
 *   fuseplanExecutePlan on one compiled plan). Changing an object (Set*, Init*, CreateOp*, Destroy*
 *   excepted) while another thread uses it is the caller's to prevent. Callbacks are noted apart.
 *
 * Lists. Functions with `requestCount, returnedCount, entries` write at most requestCount entries
 *   and store in *returnedCount how many. With `entries` NULL (or requestCount 0) they store how
 * many there are.
 *
 * Text. Functions with `char* text, size_t* size`: *size holds the bytes available at `text` and
 *   receives the bytes needed, terminating NUL included. `text` NULL asks for the size alone. Too
 *   small: fuseplanStatusInvalidValue, with *size set and nothing written.
 *
 * Growing structs start with `size_t structSize`, which the caller sets to sizeof the struct before
 *   the call (in an array: in the first entry; entries are that far apart). A library newer than
 *   the program fills only what the program knows; one older zeroes the rest.
 *
 * Names, argument order and enumerator values equal those of MIOpen's fusion API wherever MIOpen
 * has them: replace FusionPlanDescriptor_t by Plan_t, FusionOpDescriptor_t by Op_t, FusionPlan by
 * Plan and miopen by fuseplan.
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
