/* SPDX-License-Identifier: MIT */
/* What MIOpen programs ask about how the library was built. */
#ifndef MIOPEN_GUARD_CONFIG_H_
#define MIOPEN_GUARD_CONFIG_H_

/* Streams are hipStream_t; pointers are those of the handle's device (miopen.h). */
#define MIOPEN_BACKEND_HIP 1
#define MIOPEN_BACKEND_OPENCL 0

/* For programs that want to know whose miopen.h they see. */
#define MIOPEN_BY_FUSEPLAN 1

#endif /* MIOPEN_GUARD_CONFIG_H_ */
