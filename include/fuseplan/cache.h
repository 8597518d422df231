/* SPDX-License-Identifier: MIT */
/* The kernel cache: what was compiled once need not be again. */
#ifndef FUSEPLAN_CACHE_H
#define FUSEPLAN_CACHE_H

#include "fuseplan/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels are kept in a database file that processes of one user share, in FUSEPLAN_CACHE_DIR,
 * $XDG_CACHE_HOME/fuseplan or $HOME/.cache/fuseplan. Options: --cache=rw (the start value), ro
 * (read only), mem (this process only) or off; --cache_dir; --cache_mb. Handles with the same
 * directory and mode share one cache, so these functions answer for that cache, not for the handle
 * alone; the last of them to be created or given options decides cache_mb, cache_sync and
 * cache_netfs for all.
 *
 * A cached kernel is used only if its digest holds and its key (which names everything that could
 * change its bytes) is equal; otherwise it is made anew. A file that is busy, damaged, read-only,
 * unsafe (writable by others) or missing makes compiling slower, is logged once, and is no error:
 * only fuseplanCacheClear and fuseplanPlanStoreWinner, which are asked for a change on disk, fail
 * when it was not made.
 *
 * The trust boundary is the file's owner: whoever can write it can run code in this process. */

/* Path of the database; "" when there is none: cache off or in memory, or no safe place (the log
 * says why). */
FUSEPLAN_API fuseplanStatus_t fuseplanCacheGetLocation(fuseplanHandle_t handle, char* text,
                                                       size_t* size);

typedef struct {
  size_t structSize;
  uint64_t hits;         /* kernels that were found: in memory and on disk */
  uint64_t hitsOnDisk;   /* of these, on disk */
  uint64_t misses;       /* kernels that were not */
  uint64_t builds;       /* kernels that were generated */
  uint64_t stored;       /* rows written to disk */
  uint64_t dropped;      /* rows that should have been written and were not */
  uint64_t evicted;      /* rows deleted to make room */
  uint64_t rejectedRows; /* rows found damaged or false; they were deleted and made anew */
  uint64_t busyTimeouts; /* times another process kept a lock for too long */
  uint64_t setAside;     /* damaged database files that were moved out of the way */
  uint64_t rows, bytes;  /* kernels kept now, and their size */
  uint64_t tuningHits;   /* winners of earlier searches that were found and used */
  uint64_t searches;     /* plans whose candidates were timed */
} fuseplanCacheStatistics_t;

/* Counts of this process since the cache was first used. */
FUSEPLAN_API fuseplanStatus_t fuseplanCacheGetStatistics(fuseplanHandle_t handle,
                                                         fuseplanCacheStatistics_t* statistics);

typedef struct {
  size_t structSize;
  uint64_t checked; /* rows read */
  uint64_t bad;     /* problems: rows that are damaged or false, and whatever else is wrong */
  uint64_t deleted; /* bad rows that were removed */
} fuseplanCacheReport_t;

/* Checks every row and the file's structure; deletes bad rows where it may write. A file that could
 * not be read, or was so damaged that it was set aside, is a problem too. The log has one warning
 * for each. */
FUSEPLAN_API fuseplanStatus_t fuseplanCacheVerify(fuseplanHandle_t handle,
                                                  fuseplanCacheReport_t* report);

/* Deletes all kernels and tuning results, for all processes. Compiled plans are not affected.
 * InternalError: those on disk could not be deleted, and the message says why: the cache is locked,
 * read-only or in no safe place. */
FUSEPLAN_API fuseplanStatus_t fuseplanCacheClear(fuseplanHandle_t handle);

typedef struct {
  size_t structSize;
  char key[72];    /* SHA-256 of what the kernel depends on, in hexadecimal */
  char solver[64]; /* who made it; cut if longer */
  uint64_t bytes;  /* stored size */
  int64_t created; /* seconds since 1970, UTC */
} fuseplanCacheEntry_t;

/* What the cache holds, most recently used first. */
FUSEPLAN_API fuseplanStatus_t fuseplanCacheList(fuseplanHandle_t handle, int requestCount,
                                                int* returnedCount, fuseplanCacheEntry_t* entries);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_CACHE_H */
