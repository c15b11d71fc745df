/* SPDX-License-Identifier: MIT */
/* How many threads of this process can run at once. */
#ifndef SL_CPUS_H
#define SL_CPUS_H

/* Those that the process may use, by its affinity; at least 1. */
unsigned sl_usable_cpus(void);

#endif
