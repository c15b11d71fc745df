/* SPDX-License-Identifier: MIT */
/* The chain of what happened, and its first link. A failure has a cause before it on the same rank, if there is one:
 * the leak that filled the card. Without a failure it is the rank that diverged first. Where nothing diverged either:
 * a rank that is missing, slow, or late. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "ranks/fleet_impl.h"
#include "read/core/source.h"

/* Below this a finding is listed, but nobody is blamed. */
#define CAUSE_MIN      0.5
/* Ranks of the group that a line is compared with. */
#define PEERS_MAX      64u
/* Of the growth that a line must explain to be named. */
#define LINE_SHARE_MIN 0.25
/* Nobody waits for the analysis of a larger recording; the comparison of lines must do. */
#define EVENTS_MAX     UINT64_C(4000000)

typedef enum fault_class {
    IS_NOTHING,
    IS_DIVERGENCE,
    IS_FAILURE,
    IS_MISSING,
    IS_SLOW,
    IS_LATE
} fault_class;

static fault_class class_of(sl_rank_fault fault) {
    static const fault_class classes[SL_RANK_FAULT_LIMIT] = {
        [SL_RANK_FAULT_LEAK] = IS_DIVERGENCE, [SL_RANK_FAULT_SHIFT] = IS_DIVERGENCE,
        [SL_RANK_FAULT_PEAK] = IS_DIVERGENCE, [SL_RANK_FAULT_OOM] = IS_FAILURE,
        [SL_RANK_FAULT_KILLED] = IS_FAILURE,  [SL_RANK_FAULT_FAILED] = IS_FAILURE,
        [SL_RANK_FAULT_SILENT] = IS_FAILURE,  [SL_RANK_FAULT_MISSING] = IS_MISSING,
        [SL_RANK_FAULT_STRAGGLER] = IS_SLOW,  [SL_RANK_FAULT_LATE] = IS_LATE,
    };
    return classes[fault];
}

/* By time; what has none comes first, as it was so from the start. Of one moment: the surer one. */
static int compare_events(const void *a, const void *b) {
    const sl_fleet_event *x = a, *y = b;
    if (x->has_time != y->has_time)
        return x->has_time ? 1 : -1;
    if (x->time_ns != y->time_ns)
        return SL_ORDER(x->time_ns, y->time_ns);
    if (x->confidence != y->confidence)
        return SL_ORDER(y->confidence, x->confidence);
    return x->rank != y->rank ? SL_ORDER(x->rank, y->rank) : SL_ORDER(x->fault, y->fault);
}

static sl_fleet_event *first_of(sl_fleet *fleet, fault_class class, const int32_t *rank,
                                const sl_fleet_event *before) {
    for (size_t i = 0; i < fleet->events.cnt; i++) {
        sl_fleet_event *event = &fleet->events.at[i];
        if (event == before)
            return NULL;
        if (class_of(event->fault) == class && event->confidence >= CAUSE_MIN &&
            (!rank || event->rank == *rank))
            return event;
    }
    return NULL;
}

/* Of failures at about the same step, a request that failed is what the others followed from. */
static sl_fleet_event *first_failure(sl_fleet *fleet) {
    sl_fleet_event *first = first_of(fleet, IS_FAILURE, NULL, NULL);
    for (size_t i = 0; first && i < fleet->events.cnt; i++) {
        sl_fleet_event *event = &fleet->events.at[i];
        bool is_near =
            event->time_ns - first->time_ns <= (int64_t)(5 * fleet->step_ns) + 1000000000;
        if (event->fault == SL_RANK_FAULT_OOM && event->confidence >= CAUSE_MIN &&
            (event->rank == first->rank || is_near))
            return event;
    }
    return first;
}

static sl_fleet_event *find_first(sl_fleet *fleet) {
    sl_fleet_event *failure = first_failure(fleet);
    if (failure) {
        sl_fleet_event *origin = first_of(fleet, IS_DIVERGENCE, &failure->rank, failure);
        return origin ? origin : failure;
    }
    static const fault_class rest[] = {IS_DIVERGENCE, IS_MISSING, IS_SLOW, IS_LATE};
    for (size_t i = 0; i < SL_COUNT_OF(rest); i++) {
        sl_fleet_event *event = first_of(fleet, rest[i], NULL, NULL);
        if (event)
            return event;
    }
    return NULL;
}

/* ---- the line ---- */

static uint64_t peak_of_line(const sl_rank_summary *s, const char *text) {
    for (size_t i = 0; i < s->line_cnt; i++)
        if (strcmp(s->lines[i].text, text) == 0)
            return s->lines[i].peak_bytes;
    return 0;
}

static double usual_peak(const sl_fleet *fleet, const sl_fleet_row *row, const char *text) {
    const sl_fleet_group *group = &fleet->groups.at[row->group];
    double room[PEERS_MAX];
    size_t cnt = 0, every = group->members.cnt / PEERS_MAX + 1;
    for (size_t i = 0; i < group->members.cnt && cnt < PEERS_MAX; i += every) {
        const sl_fleet_row *peer = &fleet->rows.at[group->members.at[i]];
        if (peer != row)
            room[cnt++] = (double)peak_of_line(peer->of, text);
    }
    return cnt ? sl__fleet_typical(room, cnt) : 0;
}

/* The line whose peak is most above that of the same line in the other ranks. */
static void compare_lines(sl_fleet *fleet, sl_fleet_event *event) {
    const sl_fleet_row *row = &fleet->rows.at[event->idx];
    double most = 0;
    if (row->group == SL_IDX_NONE)
        return;
    for (size_t i = 0; i < row->of->line_cnt; i++) {
        const sl_rank_line *line = &row->of->lines[i];
        double above = (double)line->peak_bytes - usual_peak(fleet, row, line->text);
        if (above > most)
            most = above, event->line = line->text;
    }
    if (event->line && event->bytes > 0)
        event->line_share = fmin(1, most / (double)event->bytes);
    if (event->line_share < LINE_SHARE_MIN) /* it explains too little to be named */
        event->line = NULL, event->line_share = 0;
}

/* The recording's own leak findings, with all events at hand: the first at a line that holds more than the same line
 * in the other ranks, and enough more to explain the growth. */
static void take_finding(sl_fleet *fleet, sl_fleet_event *event, const sl_report *report) {
    const sl_fleet_row *row = &fleet->rows.at[event->idx];
    for (size_t i = 0; i < report->findings.cnt && row->group != SL_IDX_NONE; i++) {
        const sl_finding *f = &report->findings.at[i];
        if (f->kind != SL_FINDING_LEAK || !f->site.trace)
            continue;
        const char *text = sl_site_text(f->site, &fleet->arena);
        double above = (double)peak_of_line(row->of, text) - usual_peak(fleet, row, text);
        if (above < LINE_SHARE_MIN * (double)event->bytes)
            continue;
        event->line = sl_arena_copy(&fleet->arena, text, strlen(text));
        event->line_share = fmin(1, above / (double)event->bytes);
        event->confidence = fmax(event->confidence, fmin(0.99, f->confidence));
        return;
    }
}

static void read_events(sl_fleet *fleet, sl_fleet_event *event) {
    const sl_rank_summary *s = fleet->rows.at[event->idx].of;
    sl_trace *trace = NULL;
    sl_run *run = NULL;
    sl_report *report = NULL;
    if (s->source != SL_SOURCE_SLOG || s->event_cnt > EVENTS_MAX)
        return;
    if (sl_trace_load(s->path, NULL, &trace, NULL) == SL_OK &&
        sl_run_new((const sl_trace *const *)&trace, 1, &run, NULL) == SL_OK) {
        run->effort.no_whatif = true;
        if (sl_analyze(run, NULL, &report, NULL) == SL_OK)
            take_finding(fleet, event, report);
    }
    sl_report_free(report);
    sl_run_free(run);
    sl_trace_free(trace);
}

/* ---- who followed ---- */

/* Ranks that had made as many steps as the one that failed, or one more, and ended after it: they waited for it. */
static void count_followers(sl_fleet *fleet) {
    const sl_fleet_event *failure = first_failure(fleet);
    int64_t least = INT64_MAX;
    if (!failure || failure->idx < 0)
        return;
    const sl_rank_summary *failed = fleet->rows.at[failure->idx].of;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        const sl_rank_summary *s = row->of;
        int64_t after = sl__row_time(row, s->end_ns) - failure->time_ns;
        bool is_stuck = s->has_steps && s->last_step <= failed->last_step + 1;
        if (row->rank == failure->rank || !is_stuck || !s->has_ended || after <= 0)
            continue;
        fleet->followers++;
        least = sl_min_i64(least, after);
    }
    fleet->follow_ns = fleet->followers ? least : 0;
}

sl_status sl__fleet_find_cause(sl_fleet *fleet, const sl_fleet_options *options, sl_error *err) {
    SL_UNUSED(err);
    if (fleet->events.cnt > 1)
        qsort(fleet->events.at, fleet->events.cnt, sizeof *fleet->events.at, compare_events);
    for (size_t i = 0; i < fleet->events.cnt; i++)
        if (i < 256 && class_of(fleet->events.at[i].fault) == IS_DIVERGENCE)
            compare_lines(fleet, &fleet->events.at[i]);
    sl_fleet_event *first = find_first(fleet);
    if (!first)
        return SL_OK;
    if (!options->no_lines && first->fault == SL_RANK_FAULT_LEAK && first->idx >= 0)
        read_events(fleet, first);
    count_followers(fleet);
    fleet->cause = *first;
    fleet->has_cause = true;
    return SL_OK;
}

/* ---- NCCL ---- */

static int compare_nccl(const void *a, const void *b) {
    const sl_fleet_nccl *x = a, *y = b;
    return x->total_bytes != y->total_bytes ? SL_ORDER(y->total_bytes, x->total_bytes)
                                            : strcmp(x->line, y->line);
}

sl_status sl__fleet_find_nccl(sl_fleet *fleet, sl_error *err) {
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_rank_summary *s = fleet->rows.at[i].of;
        for (size_t k = 0; k < s->nccl_cnt; k++) {
            const sl_rank_line *line = &s->nccl[k];
            size_t at = 0;
            while (at < fleet->nccl.cnt && strcmp(fleet->nccl.at[at].line, line->text) != 0)
                at++;
            if (at == fleet->nccl.cnt &&
                !sl_vec_push(&fleet->nccl,
                             ((sl_fleet_nccl){.line = line->text, .least_bytes = UINT64_MAX})))
                return sl_fail_no_memory(err, "what NCCL holds");
            sl_fleet_nccl *row = &fleet->nccl.at[at];
            row->rank_cnt++;
            row->total_bytes += line->peak_bytes;
            row->least_bytes = sl_min_u64(row->least_bytes, line->peak_bytes);
            row->most_bytes = sl_max_u64(row->most_bytes, line->peak_bytes);
        }
    }
    if (fleet->nccl.cnt > 1)
        qsort(fleet->nccl.at, fleet->nccl.cnt, sizeof *fleet->nccl.at, compare_nccl);
    return SL_OK;
}
