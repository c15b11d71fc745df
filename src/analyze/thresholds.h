/* SPDX-License-Identifier: MIT */
/* The thresholds of the findings: value, unit, origin. docs/estimators.md explains the estimators;
 * `make bench-findings` shows what they do on labelled runs. "Corpus" below means the labelled runs
 * in tests/data and the seeded synthetic runs of bench/findings.
 *
 * Elsewhere: what makes a step is in run/step_thresholds.h, because steps are a fact of the run.
 * What a caller may set has its defaults beside it: samples/an_gap.c, samples/collective_config.c,
 * and memprof/profile_report.c for the compatible programs. Weights that only rank findings
 * (confidence) are in their formulas. */
#ifndef SL_THRESHOLDS_H
#define SL_THRESHOLDS_H

#include "base/core/sl_base.h"

/* ---- leak (find_leak.c) ---- */

/* Length of what follows the last step's beginning, in steps, from which on it is not just that
 * step: the trace goes on with something else, and survivors must outlive that too. Half a step of
 * room for a longer last one. */
#define SL_T_LEAK_TAIL_STEPS       1.5
/* Steps after warm-up. With five a chance run of survivors in each has p = 1/32 at a site where
 * half of the steps leave something behind. */
#define SL_T_LEAK_MIN_STEPS        5u
/* Share of the steps that count as warm-up, at least SL_T_LEAK_WARM_STEPS: optimizer state, library
 * workspaces and lazy compilation come in the first steps. */
#define SL_T_LEAK_WARM_SHARE       0.1
#define SL_T_LEAK_WARM_STEPS       2u
/* Bins of the window after warm-up that are checked for survivors. The last one must have some: the
 * leak goes on; and so must all but one of them, or the last four without a gap: a leak that began
 * late. Six: a leak in every tenth step of 80 still hits each bin; a final evaluation that collects
 * its results is rarely the last four sixths of a run. */
#define SL_T_LEAK_BINS             6u
#define SL_T_LEAK_MISSED_BINS      1u
#define SL_T_LEAK_LATE_BINS        4u
/* Rare but regular: a leak once an epoch. Occasions, variation of their distances, share of the
 * window between the first and the last, and silence since the last in mean distances. Three
 * late warm-ups at equal distances (unfreezing layers) are followed by a longer silence. */
#define SL_T_REGULAR_MIN_OCCASIONS 4u
#define SL_T_REGULAR_MAX_CV        0.25
#define SL_T_REGULAR_MIN_SPAN      0.5
#define SL_T_REGULAR_MAX_SILENCE   1.5
/* Steps after which a block counts as old: older blocks that are freed after all are eviction. */
#define SL_T_LEAK_OLD_STEPS        3u
/* Evicted old bytes against surviving bytes. A bounded cache that has filled evicts as much as it
 * keeps or more; a leak evicts nothing. */
#define SL_T_LEAK_MAX_EVICTED      0.5
/* Without steps: equal bins of events, the first ones are warm-up. */
#define SL_T_LEAK_EVENT_BINS       20u
#define SL_T_LEAK_EVENT_WARM_BINS  4u

/* Valleys: the least live bytes of a site in each bin. Steps per bin at least 2, so that a bin has
 * seen the site at rest; at most this many bins. */
#define SL_T_VALLEY_MAX_BINS  24u
#define SL_T_VALLEY_MIN_BINS  6u
/* Kendall's tau of the valleys against time. A steady climb is 1; sawteeth of the corpus stay
 * below 0.5. */
#define SL_T_VALLEY_MIN_TAU   0.8
/* One-sided probability of the Mann-Kendall statistic under "no trend". Hundreds of sites are
 * tested in one run; the other conditions multiply with it. */
#define SL_T_VALLEY_MAX_P     0.005
/* Largest fall from an earlier maximum, as a share of the growth. Caches that are cleared fall by
 * all of it. */
#define SL_T_VALLEY_MAX_FALL  0.1
/* Least share of the growth in each third of the window. 1/3 is a straight line, 0 a plateau. */
#define SL_T_VALLEY_MIN_THIRD 0.12

/* Growth of one site that the device's own total must show at least in part, once three times
 * the noise of the total is granted; less means that memory moved from one site to another. */
#define SL_T_MOVED_SHARE 0.5
#define SL_T_MOVED_NOISE 3.0

/* Occasions of growth that are asked for when nothing is freed at all. */
#define SL_T_HOARD_MIN_OCCASIONS 8u

/* Distinct growing calls under one line, and in all, from which on the retained blocks are those of
 * an autograd graph: a kept tensor is one or two of them, a kept layer's graph three or more. */
#define SL_T_GRAPH_CALLS_ONE_LINE    3u
#define SL_T_GRAPH_CALLS_ALL         5u
/* Blocks at the end against half-way: a buffer that is replaced by a larger one keeps its count. */
#define SL_T_BUFFER_MAX_BLOCK_GROWTH 1.25
/* A leak is critical from this share of the live bytes and this size on; a smaller one is a
 * warning, because a few bytes per step are no emergency. */
#define SL_T_LEAK_CRITICAL_SHARE     0.1
#define SL_T_LEAK_CRITICAL_BYTES     (UINT64_C(1) << 20)
/* Lowest confidence of a critical leak. For scale: ten tensors kept by a marked loop have 0.53,
 * sixty have 0.59. */
#define SL_T_LEAK_CRITICAL_SURE      0.55

/* Sites of forward code that leak about as often as the largest one belong to the same autograd
 * graph. These bound the ratio of their numbers of leaking steps. */
#define SL_T_GRAPH_OCCASIONS_MIN 0.8
#define SL_T_GRAPH_OCCASIONS_MAX 1.25

/* ---- build-up (find_build_up.c) ---- */

/* Smallest share of the live bytes at the end that is reported. */
#define SL_T_BUILD_UP_MIN_SHARE 0.1

/* ---- out of memory (find_oom.c) ---- */

/* Share of the allocated bytes that a leak must hold to be the cause. */
#define SL_T_OOM_LEAK_SHARE    0.25
/* Live bytes plus the request against the usual peak of a step. */
#define SL_T_OOM_SPIKE_RATIO   1.5
/* Share of the card's capacity held by other processes. Smaller shares are contexts and displays. */
#define SL_T_OOM_OTHERS_SHARE  0.1
/* Bytes of a CUDA context that the allocator does not count; 640 MB measured bare on an H200 and
 * growing with loaded modules. */
#define SL_T_OOM_CONTEXT_BYTES ((uint64_t)1 << 30)

/* ---- fragmentation (find_fragmentation.c) ---- */

/* Smallest share and size of inactive reserved bytes that is reported. */
#define SL_T_FRAG_REMARK_RATIO  0.3
#define SL_T_FRAG_REMARK_BYTES  ((uint64_t)256 << 20)
/* Share of the reserved peak that was taken although as many bytes were unused, after the first
 * half of the window: the reserved total keeps growing. */
#define SL_T_FRAG_FORCED_SHARE  0.1
/* Least inactive bytes of a fragmentation verdict without a failed request. */
#define SL_T_FRAG_VERDICT_BYTES ((uint64_t)1 << 30)

/* ---- spike (find_spike.c) ---- */

/* A spike: its peak over the median peak of all steps, its smallest excess, and the largest share
 * of steps that may be spikes; more are normal for the program. */
#define SL_T_SPIKE_RATIO     2.0
#define SL_T_SPIKE_BYTES     ((uint64_t)32 << 20)
#define SL_T_SPIKE_MAX_SHARE 0.03
#define SL_T_SPIKE_MIN_STEPS 10u

/* ---- pending frees (find_pending.c) ---- */

/* Freed but not reusable bytes at their peak, against the allocated peak; smallest amount. */
#define SL_T_PENDING_SHARE 0.05
#define SL_T_PENDING_BYTES ((uint64_t)16 << 20)

/* ---- inefficient use (find_inefficient.c) ---- */

/* Share of the peak that last step's blocks hold while their successors already exist. */
#define SL_T_LATE_FREE_SHARE 0.1
#define SL_T_LATE_FREE_BYTES ((uint64_t)64 << 20)

/* ---- retries (find_retry.c) ---- */

/* Retries from which on they are a warning: each one waits for all streams of the device. */
#define SL_T_RETRY_WARNING 3u

/* ---- growth of samples (samples/growth.c) ---- */

/* Samples that are asked for at least. */
#define SL_T_GROWTH_MIN_POINTS  8u
/* Growth of the floor in the last part: bytes, share of the largest value, and times the noise of the
 * floor around its line. */
#define SL_T_GROWTH_MIN_BYTES   (INT64_C(4) << 20)
#define SL_T_GROWTH_MIN_SHARE   0.02
#define SL_T_GROWTH_MIN_NOISES  4.0
/* The last part that decides, as a share of the time. */
#define SL_T_GROWTH_TAIL        0.4
/* Mann-Kendall's z of that part: one-sided 1 %. Fewer bins than this cannot reach it; there one
 * standard deviation is asked for, and the other conditions decide. */
#define SL_T_GROWTH_MIN_Z       2.33
#define SL_T_GROWTH_FEW_BINS    6u
#define SL_T_GROWTH_FEW_BINS_Z  1.0
/* Least share of the growth in each half of that part: 0.5 is a straight line, 0 a plateau. */
#define SL_T_GROWTH_MIN_HALF    0.2
/* The window reaches back as long as a line explains it almost as well: r squared of the wider window
 * over the best so far. */
#define SL_T_GROWTH_WIDEN_R2    0.995
/* What follows a maximum in this last share of the time is the program's end. */
#define SL_T_GROWTH_END_TIME    0.1
/* A start that takes this share of the time is left out: all before this share of the maximum. */
#define SL_T_GROWTH_START_TIME  0.5
#define SL_T_GROWTH_START_SHARE 0.1

/* ---- telemetry (samples/telemetry_findings.c) ---- */

/* Growth is critical when it is a large part of the card or of what the process had. */
#define SL_T_SAMPLED_CRITICAL_CARD   0.1
#define SL_T_SAMPLED_CRITICAL_FACTOR 2.0
/* Unused reserved memory matters when the card is filling up with it: reserved over capacity. */
#define SL_T_SAMPLED_CROWDED_SHARE   0.5
/* Share of the allocated bytes that the growth must be for a leak to be the cause of a failure. */
#define SL_T_SAMPLED_OOM_LEAK_SHARE  0.3

/* ---- ranks (samples/rank_cause.c) ---- */

/* A rise of one rank: least bytes, and share of the rank's largest use. */
#define SL_T_RANK_RISE_BYTES (INT64_C(64) << 20)
#define SL_T_RANK_RISE_SHARE 0.1

/* ---- lists ---- */

#define SL_T_TOP_DEFAULT 10u

/* ---- what a user may set ---- */

/* These decide what is reported and how severe it is (docs/settings.md). The others belong to the
 * estimators and cannot be changed alone. */
typedef enum sl_threshold_kind {
    SL_THRESHOLD_SHARE, /* from 0 to 1 */
    SL_THRESHOLD_RATIO, /* from 1 up */
    SL_THRESHOLD_BYTES,
    SL_THRESHOLD_COUNT, /* from 1 up */
} sl_threshold_kind;

/* member, key in a settings file, kind, initial value, what it decides. */
#define SL_THRESHOLD_MAP(X)                                                                       \
    X(leak_critical_share, "leak-critical-share", SHARE, SL_T_LEAK_CRITICAL_SHARE,                \
      "a leak is critical from this share of the live bytes on, if it also has "                  \
      "leak-critical-bytes")                                                                      \
    X(leak_critical_bytes, "leak-critical-bytes", BYTES, SL_T_LEAK_CRITICAL_BYTES,                \
      "a leak is critical from this size on; a smaller one is a warning")                         \
    X(build_up_share, "build-up-share", SHARE, SL_T_BUILD_UP_MIN_SHARE,                           \
      "smallest share of the live bytes of a build-up that is reported")                          \
    X(fragmentation_ratio, "fragmentation-ratio", SHARE, SL_T_FRAG_REMARK_RATIO,                  \
      "smallest unused share of the reserved memory that is reported")                            \
    X(fragmentation_bytes, "fragmentation-bytes", BYTES, SL_T_FRAG_REMARK_BYTES,                  \
      "smallest unused amount that is reported")                                                  \
    X(fragmentation_verdict_bytes, "fragmentation-verdict-bytes", BYTES, SL_T_FRAG_VERDICT_BYTES, \
      "smallest unused amount that is a fragmentation verdict although no request failed")        \
    X(spike_ratio, "spike-ratio", RATIO, SL_T_SPIKE_RATIO,                                        \
      "a step is a spike from this many times the usual peak on")                                 \
    X(spike_bytes, "spike-bytes", BYTES, SL_T_SPIKE_BYTES,                                        \
      "smallest excess over the usual peak that is a spike")                                      \
    X(spike_min_steps, "spike-min-steps", COUNT, SL_T_SPIKE_MIN_STEPS,                            \
      "fewest steps of a run in which one can be a spike")                                        \
    X(pending_share, "pending-share", SHARE, SL_T_PENDING_SHARE,                                  \
      "smallest share of the peak, waiting for another stream, that is reported")                 \
    X(pending_bytes, "pending-bytes", BYTES, SL_T_PENDING_BYTES,                                  \
      "smallest amount of it that is reported")                                                   \
    X(late_free_share, "late-free-share", SHARE, SL_T_LATE_FREE_SHARE,                            \
      "smallest share of the peak, in blocks of the previous step, that is reported")             \
    X(late_free_bytes, "late-free-bytes", BYTES, SL_T_LATE_FREE_BYTES,                            \
      "smallest amount of it that is reported")                                                   \
    X(retry_warning, "retry-warning", COUNT, SL_T_RETRY_WARNING,                                  \
      "cache flushes from this number on are a warning")

/* Bytes and counts as well: every value is exact up to 2^53. */
typedef struct sl_thresholds {
#define SL_THRESHOLD_MEMBER(member, key, kind, initial, help) double member;
    SL_THRESHOLD_MAP(SL_THRESHOLD_MEMBER)
#undef SL_THRESHOLD_MEMBER
} sl_thresholds;

extern const sl_thresholds sl_thresholds_initial;

#endif
