/* SPDX-License-Identifier: MIT */
/* Host and device memory as the system reports it, not as an allocator does: what is used on the
 * card, what this process uses, what the host has left. A value that is not available is unknown,
 * with the reason, and never 0.
 *
 * One thread at a time (the recorder's own). libc only; vendor libraries are loaded at run time. */
#ifndef SL_COUNTERS_H
#define SL_COUNTERS_H

#include "base/core/status.h"

typedef struct sl_host_sample {
    sl_maybe_u64 rss_bytes;       /* of this process */
    sl_maybe_u64 total_bytes;     /* of the machine */
    sl_maybe_u64 available_bytes; /* of the machine, as the kernel estimates it */
    sl_maybe_u64 cgroup_bytes;    /* used by this process's control group */
} sl_host_sample;

typedef struct sl_device_sample {
    sl_maybe_u64 used_bytes; /* of the card, by everybody */
    sl_maybe_u64 total_bytes;
    sl_maybe_u64 reserved_bytes; /* the part of used_bytes the driver keeps for itself */
    sl_maybe_u64 process_bytes;  /* by this process, its context included */
    sl_maybe_u64 others_bytes;   /* by all other processes the driver lists */
    sl_maybe_u64 utilization_pct;
    sl_maybe_u64 temperature_c;
    sl_maybe_u64 power_mw;
    const char *process_why; /* static text when process_bytes is unknown, else NULL */
} sl_device_sample;

/* A process that the driver lists on a card. */
typedef struct sl_device_process {
    int pid;            /* in the driver's pid namespace */
    sl_maybe_u64 bytes; /* its context included */
} sl_device_process;

void sl_counters_read_host(sl_host_sample *sample);

typedef struct sl_counters_ops {
    const char *name;
    /* Loads the driver's library into the process, if it exists, for good; NULL = there is no
     * library. After this, `open` opens no file. Any thread. */
    void (*load)(void);
    /* Loads the driver's library. SL_E_DEVICE with the reason when this back end does not work on
     * this machine. */
    sl_status (*open)(sl_error *err);
    int (*count)(void);
    /* `device` as the program numbers it. SL_E_DEVICE when there is no such one. */
    sl_status (*read)(int device, sl_device_sample *sample, sl_error *err);
    void (*close)(void);
    /* Whose memory is process_bytes: these processes instead of the calling one. */
    void (*set_own)(const int *pids, size_t cnt);
    /* The processes on a device, at most cap; how many. SL_E_DEVICE with the reason when the driver does not
     * list them. NULL = the back end has no such list. */
    sl_status (*list)(int device, sl_device_process *rows, size_t cap, size_t *cnt, sl_error *err);
} sl_counters_ops;

/* The load of all back ends. */
void sl_counters_load(void);

/* The first back end that opens, NULL when none does; err then says what each of them missed. */
const sl_counters_ops *sl_counters_open(sl_error *err);

extern const sl_counters_ops sl_counters_nvml;
extern const sl_counters_ops sl_counters_amdgpu;

#endif
