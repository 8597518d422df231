/* SPDX-License-Identifier: MIT */
/* Version, errors, logging, and the handle: a device with its settings. */
#ifndef FUSEPLAN_HANDLE_H
#define FUSEPLAN_HANDLE_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ------------------------------------------------------------------ */

/* Version of the library in use; compare with FUSEPLAN_VERSION_*. NULL pointers are skipped. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetVersion(size_t* major, size_t* minor, size_t* patch);

/* The status's own name, such as "fuseplanStatusBadParm", or "Unknown error status". Static text.
 */
FUSEPLAN_API const char* fuseplanGetErrorString(fuseplanStatus_t error);

/* What the last call that failed in this thread found wrong; "" if none has failed. One line, or
 * one for each solver where many declined. Cut at 4095 bytes. Never NULL. The text belongs to the
 * thread and is overwritten by the next failure in it. */
FUSEPLAN_API const char* fuseplanGetLastErrorMessage(void);

/* ---- Logging ----------------------------------------------------------------------------- */

/* Where log lines of the whole process go. NULL: to stderr if the environment variable
 * FUSEPLAN_LOG_LEVEL was set when the library was first used, otherwise nowhere. Returns after a
 * call in progress of the previous callback has ended. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetLogCallback(fuseplanLogCallback_t callback, void* context);

/* How much is logged: lines of `level` and more urgent ones. It starts as FUSEPLAN_LOG_LEVEL (a
 * number, 0 to 7) says, or as fuseplanLogWarning. InvalidValue: no such level. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetLogLevel(fuseplanLogLevel_t level);

/* ---- Creating handles -------------------------------------------------------------------- */

/* A handle is cheap: make one per device, or one per thread, as suits the program. Settings start
 * from the environment (see fuseplanSetOptions), which is read here and never later.
 *
 * `device` is "cpu" or "cuda:<n>"; NULL is "cpu". `stream` is a queue of that device, which stays
 * the caller's and must outlive its use by the handle; NULL is the device's default. A CPU handle
 * takes NULL only: its calls return when the work is done. BadParm: `handle` NULL, `device` empty,
 * or a stream on the CPU. InvalidValue: a name that no backend of this build has, "hip:<n>" among
 * them; the message lists the backends it has. NotInitialized: a device that is not there.
 * BadOption: a FUSEPLAN_* variable is not understood. */
FUSEPLAN_API fuseplanStatus_t fuseplanCreate(fuseplanHandle_t* handle);
FUSEPLAN_API fuseplanStatus_t fuseplanCreateForDevice(fuseplanHandle_t* handle, const char* device);
FUSEPLAN_API fuseplanStatus_t fuseplanCreateWithStream(fuseplanHandle_t* handle,
                                                       fuseplanAcceleratorQueue_t stream);
FUSEPLAN_API fuseplanStatus_t fuseplanCreateForDeviceWithStream(fuseplanHandle_t* handle,
                                                                const char* device,
                                                                fuseplanAcceleratorQueue_t stream);

/* Plans compiled for the handle stay valid objects; executing them needs another handle and
 * compile. */
FUSEPLAN_API fuseplanStatus_t fuseplanDestroy(fuseplanHandle_t handle);

/* The queue that later calls put work on. Set: BadParm for a stream on the CPU. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetStream(fuseplanHandle_t handle,
                                                fuseplanAcceleratorQueue_t streamID);
FUSEPLAN_API fuseplanStatus_t fuseplanGetStream(fuseplanHandle_t handle,
                                                fuseplanAcceleratorQueue_t* streamID);

/* Waits until all work queued on the handle's stream is done. On the CPU there never is any. */
FUSEPLAN_API fuseplanStatus_t fuseplanSynchronize(fuseplanHandle_t handle);

/* The device's name for people, e.g. the processor's model and instruction set. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetDeviceName(fuseplanHandle_t handle, char* text,
                                                    size_t* size);
/* The text that fuseplanCreateForDevice takes for it, such as "cpu:0" or "cuda:0". */
FUSEPLAN_API fuseplanStatus_t fuseplanGetDevice(fuseplanHandle_t handle, char* text, size_t* size);

/* ---- Threads and memory ------------------------------------------------------------------ */

/* CPU threads that one call may use; 0, the start value, means as many as OpenMP offers
 * (OMP_NUM_THREADS). Results of a compiled plan do not depend on it, to the bit. Where the system
 * refuses so many threads, work is done by those there are. BadParm: below 0, or above 4096. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetThreadCount(fuseplanHandle_t handle, int threadCount);
/* The number in effect, never 0. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetThreadCount(fuseplanHandle_t handle, int* threadCount);

/* Runs CPU work on the caller's threads instead of OpenMP's: see fuseplanParallelFor_t. Work is cut
 * for the thread count above. NULL goes back to OpenMP. The callback is called by several threads
 * at once if several execute at once, and must stay valid until it is replaced or the handle
 * destroyed. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetParallelFor(fuseplanHandle_t handle,
                                                     fuseplanParallelFor_t parallelFor,
                                                     void* context);

/* Where the library takes memory for prepared weights from, which belong to the operator args they
 * were executed with (those of fuseplanConvolutionBiasActivationForward to the handle). Workspaces
 * are the system's: each thread keeps its own, for all handles. Both NULL: the system. The
 * functions must be callable from any thread, until everything taken has been given back: after the
 * handle and all operator args executed with it are destroyed. Any alignment will do. BadParm: one
 * of the two functions is NULL. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetAllocator(fuseplanHandle_t handle,
                                                   fuseplanAllocatorFunction allocator,
                                                   fuseplanDeallocatorFunction deallocator,
                                                   void* allocatorContext);

/* Device memory for programs that do not want a device's own API. On the CPU: memory aligned to a
 * cache line. `bytes` 0 gives a unique pointer. Memory belongs to the caller until fuseplanFree,
 * with the same device's handle. Free: NULL is allowed; any other pointer must come from
 * fuseplanMalloc. */
FUSEPLAN_API fuseplanStatus_t fuseplanMalloc(fuseplanHandle_t handle, size_t bytes, void** memory);
FUSEPLAN_API fuseplanStatus_t fuseplanFree(fuseplanHandle_t handle, void* memory);
/* Copies between host and device memory, or within the device, after what the handle's stream
 * holds; done on return. The regions must not overlap. BadParm: a NULL pointer with bytes above 0.
 * InvalidValue: no such direction. */
FUSEPLAN_API fuseplanStatus_t fuseplanCopy(fuseplanHandle_t handle, void* destination,
                                           const void* source, size_t bytes,
                                           fuseplanCopyDirection_t direction);

/* ---- Timing ------------------------------------------------------------------------------ */

/* Whether executions are timed; off at the start, and free when off. */
FUSEPLAN_API fuseplanStatus_t fuseplanEnableProfiling(fuseplanHandle_t handle, bool enable);
/* Milliseconds that the kernels of the last execution on this handle took; 0 before the first.
 * Executions at the same time on one handle leave the time of one of them.
 * BadParm: profiling is off. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetKernelTime(fuseplanHandle_t handle, float* time);

/* ---- Options ----------------------------------------------------------------------------- */

/* Changes options of the handle, for plans compiled from now on. `options` is a list such as
 *
 *     --max_isa=avx2 --disable_pass=cse,contract_fma --cache=ro
 *
 * A value with blanks stands in double quotes, in which a backslash takes the next character as it
 * is: --cache_dir="/my files/cache". fuseplanGetOptionTable (query.h) lists all options. The
 * environment variable FUSEPLAN_FLAGS holds such a list too, and FUSEPLAN_<KEY> a single value, as
 * it is; options set here win over both. cache_mb, cache_sync and cache_netfs belong to the
 * database that handles share: the last handle that is created or given options decides them. The
 * string takes effect as a whole or not at all. BadOption: an unknown key or name (the message has
 * the nearest and all valid ones), or a value out of range. */
FUSEPLAN_API fuseplanStatus_t fuseplanSetOptions(fuseplanHandle_t handle, const char* options);

/* Tuning. --find_mode=fast, the start value, times nothing: compiling takes the stored winner of an
 * earlier search if there is one, else what the library's table of measured winners says, else what
 * the solvers expect to be best. --find_mode=hybrid times the candidates of a plan that has no
 * stored winner, for about --tune_ms milliseconds, on memory of its own; normal does so each time.
 * Winners are kept in the kernel cache, for this library, device, thread count and set of options.
 * Sizes that a dynamic plan meets later are never timed. Candidates may round differently, within
 * the bound that holds for all of them. --pin=solver:config takes one candidate and no other, or
 * the plan does not compile; where an execution needs another kernel, for beta or another size,
 * that has no such config, the solver's own choice is taken. */

/* The options in effect that are not at their defaults, as text that fuseplanSetOptions accepts. */
FUSEPLAN_API fuseplanStatus_t fuseplanGetOptions(fuseplanHandle_t handle, char* text, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_HANDLE_H */
