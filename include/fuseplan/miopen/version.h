/* SPDX-License-Identifier: MIT */
/* The version of MIOpen whose interface this is; fuseplanGetVersion tells fuseplan's own. */
#ifndef MIOPEN_GUARD_VERSION_H_
#define MIOPEN_GUARD_VERSION_H_

#define MIOPEN_VERSION_MAJOR 3
#define MIOPEN_VERSION_MINOR 3
#define MIOPEN_VERSION_PATCH 0
#define MIOPEN_VERSION_TWEAK 0

#endif /* MIOPEN_GUARD_VERSION_H_ */
