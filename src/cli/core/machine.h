/* SPDX-License-Identifier: MIT */
/* What the machine's own files say about it. Loads nothing, asks no driver. */
#ifndef SL_MACHINE_H
#define SL_MACHINE_H

#include "base/core/sl_base.h"

typedef struct sl_machine {
    char system[72], kernel[72], arch[72];
    long cpus; /* this process may use */
    sl_maybe_u64 memory_bytes;
    char nvidia_version[64]; /* "" = no driver is loaded */
    size_t nvidia_devices;
} sl_machine;

void sl_machine_read(sl_machine *machine);

#endif
