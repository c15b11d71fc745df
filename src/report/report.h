/* SPDX-License-Identifier: MIT */
/* The report: what the analyses found, as plain data. Text, Markdown, JSON, JUnit and the page are
 * drawn from this structure alone, so they cannot disagree. docs/report.md describes the JSON form.
 *
 * Ownership: everything in a report lives in its arena, except sites, which point into the trace
 * they came from (inputs[].trace, borrowed). A report must be freed before its traces. */
#ifndef SL_REPORT_H
#define SL_REPORT_H

#include "model/severity.h"
#include "run/ledger.h"
#include "run/lines/site.h"
#include "run/lines/split.h"
#include "run/process_tree.h"

#define SL_REPORT_SCHEMA "stormlog.report/1"

/* enumerator, outside name, rank of the verdict it leads to (0 = none), title on the page (web/src/schema.ts is
 * generated from it), one line of help. */
#define SL_FINDING_KIND_MAP(X)                                                                  \
    X(OOM, "oom", 4, "Out of memory", "a request for memory failed")                            \
    X(LEAK, "leak", 3, "Leak", "live memory keeps growing at one place")                        \
    X(FRAGMENTATION, "fragmentation", 2, "Fragmentation",                                       \
      "reserved memory in pieces too small to use")                                             \
    X(SPIKE, "spike", 1, "Spike", "a short peak far above the usual one")                       \
    X(GAP, "gap", 0, "Gap", "device memory outside the framework's allocator")                  \
    X(PENDING_FREE, "pending-free", 0, "Waiting to be freed",                                   \
      "freed blocks that wait for another stream")                                              \
    X(INEFFICIENT, "inefficient", 0, "Inefficient", "memory held long before or after its use") \
    X(RETRY, "retry", 0, "Retry", "the allocator had to flush its cache to serve a request")    \
    X(HISTORY, "history", 0, "Missing history", "the input is incomplete")                      \
    X(BUILD_UP, "build-up", 0, "Build-up", "blocks allocated in a row, all still live")         \
    X(SETTINGS, "settings", 0, "Settings", "an allocator setting that is not in effect")

typedef enum sl_finding_kind {
#define SL_FINDING_ENUM(name, ...) SL_FINDING_##name,
    SL_FINDING_KIND_MAP(SL_FINDING_ENUM)
#undef SL_FINDING_ENUM
        SL_FINDING_LIMIT
} sl_finding_kind;

/* By rank: of several findings the highest decides. */
typedef enum sl_verdict {
    SL_VERDICT_HEALTHY,
    SL_VERDICT_SPIKE,
    SL_VERDICT_FRAGMENTATION,
    SL_VERDICT_LEAK,
    SL_VERDICT_OOM,
} sl_verdict;

typedef enum sl_oom_cause {
    SL_CAUSE_LEAK,
    SL_CAUSE_SPIKE,
    SL_CAUSE_FRAGMENTATION,
    SL_CAUSE_OTHER_PROCESS,
    SL_CAUSE_CAPACITY,
} sl_oom_cause;

typedef struct sl_fragmentation {
    sl_maybe_u64 inactive_bytes;     /* reserved but in no block in use */
    sl_maybe_u64 largest_free_bytes; /* largest request that could be served without growing */
    sl_maybe_u64 private_pool_bytes; /* the part of inactive that only a private pool may use */
    sl_maybe_u64 rounding_bytes;     /* lost inside blocks: rounded less requested */
    sl_maybe_u64 releasable_bytes;   /* what empty_cache would give back */
    sl_maybe_f64 ratio;              /* inactive / reserved */
} sl_fragmentation;

typedef struct sl_device_report {
    const sl_trace *trace; /* borrowed; the input it belongs to */
    int device;
    sl_maybe_u64 rank; /* known where the input's records are of a run of several ranks */
    bool has_history;  /* false: only the end state is known, neither peak nor growth */
    uint64_t events, allocs, frees;
    sl_maybe_u64 segments;
    uint64_t base_bytes; /* live before the trace began */
    uint64_t live_requested_bytes;
    sl_maybe_u64 live_bytes;      /* as live_requested_bytes, in the allocator's rounded bytes */
    sl_maybe_u64 allocated_bytes; /* the same less blocks that wait to be freed: what
                                     torch.cuda.memory_allocated() says */
    uint64_t peak_requested_bytes;
    sl_maybe_u64 peak_bytes;           /* of live_bytes */
    sl_maybe_u64 peak_allocated_bytes; /* of allocated_bytes */
    int64_t peak_time_us;
    sl_maybe_u64 reserved_bytes, peak_reserved_bytes;
    sl_maybe_u64 capacity_bytes;
    int64_t first_time_us, last_time_us;
    sl_holdings top_live, top_peak;
    sl_split live_by_tag, peak_by_tag; /* the peak of the requested bytes */
    sl_fragmentation fragmentation;
    bool identity_holds;      /* the trace and the end state agree to the byte */
    int64_t identity_residue; /* bytes by which they differ */
    uint64_t unmatched_frees;
    uint64_t lost_frees;      /* addresses handed out again without a free in between */
    uint64_t stackless_bytes; /* live at the peak without a Python stack (autograd backward) */
    sl_maybe_f64 step_us;     /* median length of a step */
    sl_maybe_u64 steps;       /* steps seen or found */
    bool steps_marked;        /* by the program, not inferred */
    bool leaks_judged; /* false: too few steps of work were seen to tell growth from loading */
    sl_ledger_state ledger, ledger_fullest; /* of the card: at the end, and when it was fullest */
} sl_device_report;

/* A number a finding rests on, with the threshold it was held against. */
typedef struct sl_evidence {
    const char *name;
    double value;
    const char *unit;     /* "bytes", "1", "s", … */
    double threshold;     /* NaN when the number is shown, not tested */
    const char *relation; /* ">=", "<", … ; NULL when not tested */
} sl_evidence;

/* What replays of the trace under other allocator settings say, for a finding that one of them might mend. */
typedef enum sl_trial_result {
    SL_TRIAL_NONE,       /* nobody asked */
    SL_TRIAL_HELPS,      /* `settings` would have mended it */
    SL_TRIAL_MAY_HELP,   /* under the highest limit that the trace allows, not under the lowest */
    SL_TRIAL_NO_HELP,    /* none of those tried would */
    SL_TRIAL_NOT_PROVEN, /* the replay does not reproduce the trace, or there is nothing to replay */
    SL_TRIAL_NOT_TRIED,  /* too long, or switched off */
} sl_trial_result;

typedef struct sl_trial {
    sl_trial_result result;
    const char *settings; /* as PYTORCH_CUDA_ALLOC_CONF; "" = the defaults; NULL = none helps */
    sl_maybe_u64 reserved_peak_bytes; /* with them; not known where a request fails */
    sl_maybe_u64 recorded_peak_bytes; /* as recorded */
} sl_trial;

typedef struct sl_finding {
    sl_finding_kind kind;
    sl_severity severity;
    sl_verdict decides;    /* when it is at least a warning; HEALTHY = none */
    double confidence;     /* 0..1 */
    const sl_trace *trace; /* borrowed; the input it was found in, NULL = not in a single one */
    int device;
    sl_maybe_u64 rank;   /* of the samples that it was found in, as of the device */
    sl_site site;        /* site.trace is NULL when there is no single place */
    const char *subkind; /* "graph retention", "growing buffer", … or NULL */
    sl_maybe_u64 bytes, blocks;
    sl_maybe_f64 bytes_per_second, bytes_per_step, r_squared;
    sl_maybe_f64 growth_share; /* of the whole growth that this explains, 0..1 */
    int64_t first_time_us, last_time_us;
    const char *title, *explanation, *advice;
    sl_trial trial;
    const sl_evidence *evidence;
    size_t evidence_cnt;
} sl_finding;

typedef struct sl_oom_report {
    bool present;
    int device;
    uint64_t requested_bytes; /* 0 = not known */
    sl_maybe_u64 allocated_bytes, reserved_bytes, device_free_bytes, limit_bytes;
    int64_t time_us;
    sl_site site; /* the line that asked */
    sl_oom_cause cause;
    const char *explanation;
    sl_holdings holders; /* at that moment */
    uint64_t count;      /* failures in the trace; the fields describe the last one */
} sl_oom_report;

/* One input and what was decided about it alone. */
typedef struct sl_report_input {
    const sl_trace *trace; /* borrowed */
    uint64_t events;
    sl_maybe_u64 dropped_events;
    sl_verdict verdict;
    sl_oom_report oom;
    sl_process_place place; /* among inputs[] */
} sl_report_input;

/* How a verdict was reached, for --explain: one line a decision. */
typedef struct sl_reason {
    const char *text;
} sl_reason;

typedef struct sl_report {
    sl_arena arena;
    sl_verdict verdict; /* the most severe of the inputs */
    SL_VEC(sl_report_input) inputs;
    SL_VEC(sl_device_report) devices;
    SL_VEC(sl_finding) findings; /* most severe first */
    SL_VEC(sl_reason) reasons;
    sl_oom_report oom; /* of the first input whose verdict it decides */
} sl_report;

sl_report *sl_report_new(void);
void sl_report_free(sl_report *report); /* NULL is fine */

const char *sl_finding_kind_name(sl_finding_kind kind);
const char *sl_finding_kind_help(sl_finding_kind kind);
/* Of the verdict it leads to, an sl_verdict; 0 = it decides none. */
int sl_finding_kind_rank(sl_finding_kind kind);
/* True and *kind set when the name is one of the table's. */
bool sl_finding_kind_find(const char *name, size_t len, sl_finding_kind *kind);
const char *sl_verdict_name(sl_verdict verdict);
const char *sl_oom_cause_name(sl_oom_cause cause);
const char *sl_trial_result_name(sl_trial_result result);

#endif
