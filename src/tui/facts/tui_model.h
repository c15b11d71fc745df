/* SPDX-License-Identifier: MIT */
/* What the views show, as plain data: they draw from this alone. Filled by machine_facts.c (the machine and
 * its cards), live_facts.c (a recording that is still written, from its tables and curves) and run_facts.c
 * (inputs that were read whole). An unknown figure is marked unknown, never written as 0.
 *
 * Ownership: sl_tui_source owns its arena and everything in it that is not marked borrowed. */
#ifndef SL_TUI_MODEL_H
#define SL_TUI_MODEL_H

#include "base/core/arena.h"
#include "model/severity.h"
#include "model/trace.h"
#include "run/ledger.h"
#include "tui/widget/tree_rows.h"

/* ---- the machine ---- */

typedef struct sl_tui_card {
    int number;
    sl_maybe_u64 used, total, utilization_pct, temperature_c, power_mw;
} sl_tui_card;

#define SL_TUI_CARDS_MAX 64

typedef struct sl_tui_machine {
    char host[72], system[160];
    long cpus;
    sl_maybe_u64 memory_total, memory_available;
    sl_tui_card cards[SL_TUI_CARDS_MAX];
    size_t card_cnt;
    char no_cards[SL_ERROR_TEXT_CAP]; /* why there are none */
} sl_tui_machine;

/* Readings of one process that are kept, one per refresh. */
#define SL_TUI_HISTORY   240
#define SL_TUI_USERS_MAX 64

/* A process that uses a card, or that is being recorded. */
typedef struct sl_tui_user {
    int pid;
    int card;           /* -1 = none that is known: then bytes are those of the host */
    sl_maybe_u64 bytes; /* on the card, or resident */
    uint64_t first_bytes;
    char owner[32], job[64], command[160];
    bool is_recorded, is_gone;
    double history[SL_TUI_HISTORY]; /* oldest first */
    size_t history_cnt;
} sl_tui_user;

typedef struct sl_tui_users {
    sl_tui_user rows[SL_TUI_USERS_MAX];
    size_t cnt;
    const char *problem; /* why processes of cards are not listed; NULL = they are */
} sl_tui_users;

/* A run that was found in a folder of runs. */
typedef struct sl_tui_job {
    char path[512], name[96], command[256], state[16];
    bool is_running;
    int64_t start_s; /* since 1970 */
    uint64_t bytes;  /* on disk */
    size_t process_cnt;
} sl_tui_job;

typedef struct sl_tui_jobs {
    SL_VEC(sl_tui_job) rows; /* running ones first, then the newest */
    char folder[512];
} sl_tui_jobs;

/* ---- the open input ---- */

typedef enum sl_tui_curve_kind {
    SL_TUI_ALLOCATED,
    SL_TUI_RESERVED,
    SL_TUI_USED,
    SL_TUI_CURVE_CNT,
} sl_tui_curve_kind;

/* Values of a curve; the charts take as many as they have columns for. */
#define SL_TUI_POINTS 1024

/* One device of one process. */
typedef struct sl_tui_device {
    size_t process; /* into sl_tui_source.processes */
    int number;     /* SL_DEVICE_HOST */
    const char *label;
    bool has_curves;
    int64_t from_us, to_us; /* of the curves, after the start of the process */
    bool has_time;
    double *curves[SL_TUI_CURVE_CNT]; /* SL_TUI_POINTS each; NAN = not known */
    sl_maybe_u64 now[SL_TUI_CURVE_CNT], peak[SL_TUI_CURVE_CNT];
    sl_maybe_u64 capacity;
    sl_ledger_state ledger;         /* now, or at the end of the work */
    sl_ledger_state ledger_fullest; /* where the run was read whole */
    sl_tree sites;                  /* by file and line */
    sl_tree modules;                /* by module and line; empty where the input has none */
    const char *growth_span;        /* what "growth" means here */
    const char *forecast;           /* "out of memory in 12 min ..."; NULL = nothing to say */
    const char *failure;            /* what would fail first, and why; NULL = not known */
    bool is_failing;                /* it would fail now */
    uint64_t stackless_bytes;
} sl_tui_device;

typedef struct sl_tui_alert {
    int64_t time_us; /* after the start */
    const char *text;
    size_t process;
} sl_tui_alert;

typedef struct sl_tui_process {
    const char *path, *label, *command, *host;
    const char *verdict; /* a sentence; NULL = not judged yet */
    int verdict_rank;    /* sl_verdict */
    const char *ending;  /* "still running", "exited", … */
    bool is_live;
    bool is_sampled; /* `events` are samples */
    sl_maybe_u64 pid, rank;
    int64_t length_us;
    uint64_t events, oom_cnt;
    sl_maybe_u64 steps;
    sl_maybe_f64 steps_per_s;
} sl_tui_process;

typedef struct sl_tui_finding {
    const char *title, *text, *advice, *place, *amount, *certainty, *device;
    sl_severity severity;
    sl_maybe_u64 rank;
    int64_t first_us, last_us; /* of the input's clock */
    const char *const *evidence;
    size_t evidence_cnt;
} sl_tui_finding;

typedef struct sl_tui_rank {
    int number;
    bool is_missing;
    const char *ending;
    uint64_t samples;
    sl_maybe_u64 first, last, peak;
    sl_maybe_f64 lead_s; /* of a suspect: how long before the others it grew */
    double *heat;        /* SL_TUI_POINTS; NULL = none */
} sl_tui_rank;

typedef struct sl_tui_setting {
    const char *text, *spread, *failure;
    uint64_t peak;
    int64_t saves;
    sl_maybe_u64 card;
    bool is_best, has_failed;
} sl_tui_setting;

/* One figure or line of two inputs that are compared. */
typedef struct sl_tui_change {
    const char *what;  /* "grown", "appeared", …; "peak" of a whole device */
    const char *where; /* a line, or a figure of a device */
    bool is_line;
    uint64_t before, after;
} sl_tui_change;

/* What changed from another input to the open one. */
typedef struct sl_tui_comparison {
    sl_arena arena;
    const char *before, *after; /* what the user calls them */
    const char *lines[4];       /* the verdicts, and what could not be compared */
    size_t line_cnt;
    SL_VEC(sl_tui_change) rows; /* figures first, then lines by the size of the change */
} sl_tui_comparison;

void sl_tui_comparison_free(sl_tui_comparison *comparison); /* NULL is fine */

/* The answer of What-if for one device. */
typedef struct sl_tui_whatif {
    sl_arena arena;
    size_t device;
    const char *asked;   /* the settings and the card that were asked for; "" = the usual ones */
    const char *problem; /* why there is none; NULL = there is */
    const char *lines[8];
    size_t line_cnt;
    sl_tui_setting *rows;
    size_t row_cnt;
} sl_tui_whatif;

void sl_tui_whatif_free(sl_tui_whatif *whatif); /* NULL is fine */

typedef struct sl_tui_source {
    sl_arena arena;
    const char *name; /* what the user opened */
    SL_VEC(sl_tui_process) processes;
    SL_VEC(sl_tui_device) devices;
    SL_VEC(sl_tui_finding) findings; /* most severe first */
    SL_VEC(sl_tui_alert) alerts;     /* newest first */
    SL_VEC(sl_tui_rank) ranks;
    SL_VEC(const char *) notes;
    const char *rank_verdict;
    int world_size; /* 0 = not known */
    const char *verdict;
    int verdict_rank;
    bool is_whole;   /* read whole: it has findings and a timeline */
    bool is_early;   /* its events are not read yet: only what is live at the end is known */
    bool has_failed; /* memory ran out while it was made */
} sl_tui_source;

void sl_tui_source_free(sl_tui_source *source); /* NULL is fine */

/* ---- one line ---- */

/* The live bytes of a line over time. */
typedef struct sl_tui_follow {
    int64_t from_us, to_us; /* after the start */
    bool has_time;
    double values[SL_TUI_POINTS];
    size_t cnt; /* values that are there */
    uint64_t now, peak;
} sl_tui_follow;

/* ---- the timeline ---- */

#define SL_TUI_BANDS_MAX 8

typedef enum sl_tui_split { SL_TUI_BY_LINE, SL_TUI_BY_TAG, SL_TUI_SPLIT_CNT } sl_tui_split;

/* Long times without an event are drawn shorter than they were. */
#define SL_TUI_SILENCES_MAX 16
typedef struct sl_tui_silence {
    int64_t from_us, to_us; /* after the start */
} sl_tui_silence;

/* A part of a device's history, split. */
typedef struct sl_tui_timeline {
    sl_arena arena;
    size_t device;
    sl_tui_split split;
    int64_t from_us, to_us;   /* after the start */
    int64_t first_us, end_us; /* of the whole */
    bool has_time;
    sl_tui_silence silences[SL_TUI_SILENCES_MAX]; /* in order */
    size_t silence_cnt;
    double columns_per_us, silence_columns; /* by sl_tui_timeline_set_axis */
    bool keeps_silences;                    /* asked for in full length */
    size_t cnt;                             /* columns */
    const char *names[SL_TUI_BANDS_MAX];
    double *bands[SL_TUI_BANDS_MAX]; /* at the highest moment of each column, so they add up */
    size_t band_cnt;
    double *reserved;
    SL_VEC(int64_t) steps; /* borders within the part */
    const char *problem;   /* why there is none */
} sl_tui_timeline;

void sl_tui_timeline_free(sl_tui_timeline *timeline);

/* Once cnt, the part and its silences are known. */
void sl_tui_timeline_set_axis(sl_tui_timeline *timeline);
/* The time at the left of a column, after the start, and the column of a time. */
int64_t sl_tui_timeline_time(const sl_tui_timeline *timeline, double column);
double sl_tui_timeline_column(const sl_tui_timeline *timeline, int64_t us);
/* The silence that a column shows; NULL = none. */
const sl_tui_silence *sl_tui_timeline_silence(const sl_tui_timeline *timeline, size_t column);

#endif
