/* SPDX-License-Identifier: MIT */
/* Versions of the library, of its ABI and of the log format. They move independently: a new
 * format does not change the ABI, and a new release need not change either. */
#ifndef SL_VERSION_H
#define SL_VERSION_H

#define SL_VERSION_MAJOR  0
#define SL_VERSION_MINOR  1
#define SL_VERSION_PATCH  0
#define SL_VERSION_STRING "0.1.0"

/* Raised when a function of the public headers changes its meaning or goes away. */
#define SL_ABI_VERSION 1

#endif
