/* SPDX-License-Identifier: MIT */
/* The facts of the machine under the Python tool's keys: from files, from the driver where there is one,
 * and from the user's interpreter. What is not known is null. */
#ifndef SL_SYSTEM_INFO_H
#define SL_SYSTEM_INFO_H

#include "base/text/json_out.h"
#include "cli/core/machine.h"

typedef struct sl_system_info {
    sl_machine machine;
    char python_version[16]; /* "3.11.7"; "" = there is none */
    bool has_torch;          /* beside that Python */
    char torch_version[48];  /* "" = not known */
    bool has_cuda;           /* a card answers */
    int device_cnt;
    long cpus_physical, cpus_logical;
    sl_maybe_u64 memory_available;
} sl_system_info;

/* Names the interpreter that called this program, for the one it asks; stormlog.cli sets it. */
#define SL_PYTHON_ENV "STORMLOG_PYTHON"

/* pid: the process asked about, or 0. Its interpreter is asked; else that of SL_PYTHON_ENV, else
 * the first on PATH. */
void sl_system_info_read(sl_system_info *info, int pid);

/* As one JSON object. */
void sl_system_info_json(sl_json_out *json, const sl_system_info *info);

/* The same as a text; the caller frees it. NULL when memory ran out. */
char *sl_system_info_text(const sl_system_info *info);

#endif
