/* SPDX-License-Identifier: MIT */
/* What the recorder was asked to do: the environment variables `stormlog run` sets for the
 * processes below it, as one table. Read once at start, in the thread that starts. */
#ifndef SL_RECORD_OPTIONS_H
#define SL_RECORD_OPTIONS_H

#include <string.h>

#include "base/core/status.h"

#define SL_RECORD_PATH_CAP 3072

typedef enum sl_cpu_choice { SL_CPU_AUTO, SL_CPU_ON, SL_CPU_OFF } sl_cpu_choice;

typedef struct sl_record_settings {
    char dir[SL_RECORD_PATH_CAP]; /* "" = nowhere: nothing is recorded */
    uint64_t ring_bytes;          /* 0 = the log's default */
    uint64_t interval_ms;         /* of the counters; 0 = 100 */
    sl_cpu_choice cpu;            /* AUTO: on where there is no GPU */
    unsigned alert_device_pct;    /* of a card; 0 = no alert */
    unsigned alert_host_pct;      /* of the host's memory; 0 = no alert */
    bool is_disabled;
    bool has_stacks;
    bool has_native_stacks; /* frames of native code too */
    bool has_driver;        /* the CUDA driver's memory functions too */
    bool has_tags;          /* optimizers are asked for their tensors */
    bool has_modules;       /* stacks carry the path of the module that ran */
    bool is_quiet;
    bool is_shared;   /* other users may read what is recorded */
    bool is_patching; /* hooks go into the GOT; else they are preloaded */
} sl_record_settings;

/* number, variable, what it means; the order is that of the documentation. */
#define SL_RECORD_ENV_MAP(X)                                                              \
    X(DISABLE, "STORMLOG_DISABLE", "1: the recorder does nothing at all")                 \
    X(DIR, "STORMLOG_DIR", "folder the recordings go to; not set: nothing is recorded")   \
    X(RING, "STORMLOG_RING", "size of the ring of raw events, as in 256MiB")              \
    X(CPU, "STORMLOG_CPU", "1 or 0: record PyTorch's CPU allocator; auto: without a GPU") \
    X(STACKS, "STORMLOG_STACKS", "python, native (those of C and C++ too) or none")       \
    X(DRIVER, "STORMLOG_DRIVER", "0: leave the CUDA driver's memory functions alone")     \
    X(INTERVAL, "STORMLOG_INTERVAL_MS", "milliseconds between two readings of counters")  \
    X(ALERT_DEVICE, "STORMLOG_ALERT_DEVICE", "percent of a card, as in 90%, or off")      \
    X(ALERT_HOST, "STORMLOG_ALERT_HOST", "percent of the host's memory, or off")          \
    X(TAGS, "STORMLOG_TAGS", "0: never look at the program's optimizers")                 \
    X(MODULES, "STORMLOG_MODULES", "1: the path of the running module in stacks")         \
    X(SHARE, "STORMLOG_SHARE", "1: other users may read the recordings (0644, not 0600)") \
    X(QUIET, "STORMLOG_QUIET", "1: no line on standard error, whatever happens")

typedef enum sl_record_env {
#define SL_RECORD_ENV_ENUM(id, name, meaning) SL_RECORD_ENV_##id,
    SL_RECORD_ENV_MAP(SL_RECORD_ENV_ENUM)
#undef SL_RECORD_ENV_ENUM
        SL_RECORD_ENV_CNT
} sl_record_env;

static inline const char *sl_record_env_name(sl_record_env var) {
    static const char *const names[SL_RECORD_ENV_CNT] = {
#define SL_RECORD_ENV_NAME(id, name, meaning) name,
        SL_RECORD_ENV_MAP(SL_RECORD_ENV_NAME)
#undef SL_RECORD_ENV_NAME
    };
    return names[var];
}

/* Defaults, then the environment. A value that cannot be read is SL_E_USAGE with the variable's
 * name in the text; the rest of the settings is still usable. */
sl_status sl_record_settings_load(sl_record_settings *settings, sl_error *err);

#define SL_RECORD_PERCENT_EXPECTED "1% to 100%, or off"

/* "90%", "90" or "off" (0); false for anything else. Here, because the command line checks it too
 * and has nothing else of the recorder's code. */
static inline bool sl_record_parse_percent(const char *text, unsigned *percent) {
    unsigned value = 0;
    if (strcmp(text, "off") == 0) {
        *percent = 0;
        return true;
    }
    while (*text >= '0' && *text <= '9' && value <= 100)
        value = value * 10 + (unsigned)(*text++ - '0');
    *percent = value;
    return value >= 1 && value <= 100 && (*text == '\0' || strcmp(text, "%") == 0);
}

/* Whether this machine seems to have a GPU that the process may use; no driver is called. */
bool sl_record_has_gpu(void);

#endif
