/* SPDX-License-Identifier: MIT */
/* Checks a log against every rule of log_layout.h and reports what it contains and what is missing.
 * Damage goes into `problems`; what a kill or a full disk merely cut off does not. */
#ifndef SL_LOG_FSCK_H
#define SL_LOG_FSCK_H

#include "base/core/arena.h"
#include "log/read/log_reader.h"

typedef struct sl_fsck_section {
    uint32_t kind;
    uint32_t level;
    uint64_t used, reserved, cap;
    uint64_t incomplete; /* records begun and never finished (L6) */
} sl_fsck_section;

typedef struct sl_fsck_problem {
    const char *rule; /* "L1" … */
    int64_t position; /* byte, -1 when there is no single one */
    const char *text;
} sl_fsck_problem;

/* Which rules could be checked at all. */
typedef enum sl_fsck_replay {
    SL_FSCK_REPLAY_EQUAL,   /* the events, replayed, give the live table and the totals (L10) */
    SL_FSCK_REPLAY_DIFFERS, /* they do not: a problem */
    SL_FSCK_REPLAY_LOST,    /* not checked: events were overwritten or dropped */
    SL_FSCK_REPLAY_LIVE,    /* not checked: the writer is running */
} sl_fsck_replay;

typedef struct sl_fsck_report {
    sl_arena arena; /* owns the texts */
    sl_log_ending ending;
    uint64_t duration_ns; /* from the start to the last sign of life */
    uint64_t events;      /* in the ring, those in flight included */
    uint64_t lost;        /* overwritten by newer ones */
    uint64_t torn;
    uint64_t in_flight;
    uint64_t repaired_sites, uncertain_sites;
    uint64_t sites, live_blocks, live_bytes;
    uint64_t marks, marks_lost, alerts, alerts_lost, ooms, ooms_lost;
    uint64_t threads;
    uint64_t health[SL_HEALTH_LIMIT];
    sl_fsck_replay replay;
    SL_VEC(sl_fsck_section) sections;
    SL_VEC(sl_fsck_problem) problems;
} sl_fsck_report;

/* Negative only when the log could not be checked at all: memory, or a read error. */
sl_status sl_log_fsck(sl_log_reader *reader, sl_fsck_report *out, sl_error *err);
void sl_log_fsck_fini(sl_fsck_report *report);

#endif
