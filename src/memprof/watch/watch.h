/* SPDX-License-Identifier: MIT */
/* Watches the memory of a process from outside: its process tree on the host, and what the
 * driver reports about a card. Every tick gives telemetry records. An alert is given once, and
 * again only after the value fell back (hysteresis). One thread; it owns the handlers of SIGINT,
 * SIGTERM and SIGCHLD while it runs. */
#ifndef SL_WATCH_H
#define SL_WATCH_H

#include "counters/counters.h"
#include "counters/proc_tree.h"
#include "model/rank_identity.h"
#include "telemetry/telemetry.h"

typedef struct sl_watch sl_watch;

typedef struct sl_watch_options {
    double interval_s;
    double duration_s;    /* <= 0 = until the process or a signal ends it */
    int device;           /* -1 = the first */
    int pid;              /* 0 = the command, or this process */
    char *const *command; /* ends with NULL; NULL = none */
    bool keeps_errors;    /* read the command's error output through a pipe, pass it on */
    bool uses_host;       /* host memory even where there is a card */
    bool has_alerts;
    double warning_pct, critical_pct;
    const char *collector; /* NULL = by backend */
    sl_identity identity;
    size_t buffer_size; /* records kept for a bundle; 0 = 10,000 */
    /* Called for every record, in order; the texts are those of `set`. */
    void (*on_record)(void *ctx, const sl_telemetry *set, const sl_tm_record *record);
    /* Called about once a second. */
    void (*on_second)(void *ctx, const sl_watch *watch);
    void *ctx;
} sl_watch_options;

/* How it ended. */
typedef enum sl_watch_end {
    SL_WATCH_TIME,        /* the duration is over */
    SL_WATCH_INTERRUPTED, /* Ctrl-C or SIGTERM */
    SL_WATCH_GONE,        /* the process ended */
} sl_watch_end;

#define SL_WATCH_ERRORS_CAP 16384

struct sl_watch {
    sl_watch_options options;
    const char *backend;             /* "cuda" or "cpu" */
    const sl_counters_ops *counters; /* NULL = host memory */
    sl_telemetry *kept;              /* the newest records, a ring */
    size_t kept_cap, kept_next;
    sl_proc_tree *tree;
    int pid;
    int child;                        /* its pid; 0 = there is none */
    int errors_fd;                    /* -1 = not piped */
    char errors[SL_WATCH_ERRORS_CAP]; /* the newest error output, terminated */
    size_t errors_len;
    int64_t begin_ns; /* monotonic */
    int64_t elapsed_ns;
    int64_t total_bytes; /* of the card or the host; SL_TM_NULL */
    int64_t last_bytes, first_bytes, peak_bytes, current_bytes;
    int64_t last_used, last_free; /* of the newest sample */
    int last_device;
    int64_t step_ns, step_bytes; /* of the newest alert about a large step */
    double sum_bytes;
    uint64_t record_cnt, sample_cnt, alert_cnt;
    int alert_level;        /* 0 none, 1 warning, 2 critical */
    sl_maybe_u64 oom_kills; /* of the control group, at the start */
    bool was_oom_killed;
    int exit_status; /* of the child, as waitpid gives it */
    sl_watch_end end;
};

/* Starts the command, if there is one, and watches until the end. The caller calls sl_watch_fini
 * even when this fails. SL_E_SYSTEM when the command cannot be started, SL_E_DEVICE when the
 * process or the device does not exist. */
sl_status sl_watch_run(sl_watch *watch, const sl_watch_options *options, sl_error *err);
void sl_watch_fini(sl_watch *watch);

/* The kept records, oldest first, as pointers; the caller frees the array. NULL when memory ran
 * out. */
const sl_tm_record **sl_watch_kept(const sl_watch *watch, size_t *cnt);

/* Adds a record outside the regular ticks, with the current figures. */
sl_status sl_watch_record(sl_watch *watch, const char *event_type, int64_t change,
                          const char *context, const char *metadata);

/* The command's own exit code: its code, or 128 + the signal. */
int sl_watch_exit_code(const sl_watch *watch);

double sl_watch_percent(const sl_watch *watch);

/* "cuda" when a card is available, else "cpu". */
const char *sl_watch_backend(void);

#endif
