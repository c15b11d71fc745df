/* SPDX-License-Identifier: MIT */
#include "api/cpus.h"

#include <sched.h>
#include <unistd.h>

unsigned sl_usable_cpus(void) {
    cpu_set_t set;
    long cnt = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                           : sysconf(_SC_NPROCESSORS_ONLN);
    return cnt > 0 ? (unsigned)cnt : 1;
}
