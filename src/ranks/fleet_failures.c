/* SPDX-License-Identifier: MIT */
/* What ended or held up ranks: requests that failed, processes that ended, ranks that fell silent, that came late
 * or that are not there. */
#include <math.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "ranks/fleet_impl.h"

/* Ends that are closer together than this are one: somebody stopped the job. */
#define TOGETHER_NS    2e9
#define TOGETHER_STEPS 3.0
/* A start that is later than the others' by this is late. */
#define LATE_NS_MIN    10e9
#define LATE_STEPS_MIN 20.0
/* A normal exit that is earlier than the others' by this is not usual. */
#define EXIT_NS_MIN    60e9
/* Missing ranks that are named one by one. */
#define MISSING_NAMED  64u

static sl_status add(sl_fleet *fleet, const sl_fleet_event *event, sl_error *err) {
    return sl__fleet_add_event(fleet, event) ? SL_OK : sl_fail_no_memory(err, "what failed");
}

static sl_fleet_event event_of(const sl_fleet *fleet, const sl_fleet_row *row, sl_rank_fault fault,
                               int64_t own_time_ns, double confidence) {
    bool has_step = row->of->has_steps;
    uint64_t step = row->of->last_step + 1;
    return (sl_fleet_event){.fault = fault,
                            .rank = row->rank,
                            .idx = (int32_t)(row - fleet->rows.at),
                            .time_ns = sl__row_time(row, own_time_ns),
                            .has_time = true,
                            .has_step = has_step,
                            .step = step,
                            .step_to = step,
                            .confidence = confidence};
}

/* The first request that failed and the program did not survive, else the first. A failure that the program
 * catches, and goes on from, is not what ended it. */
static sl_status add_ooms(sl_fleet *fleet, const sl_fleet_row *row, sl_error *err) {
    const sl_rank_summary *s = row->of;
    for (size_t i = 0; i < s->failure_cnt; i++) {
        const sl_rank_failure *f = &s->failures[i];
        bool went_on = s->has_steps && s->last_step > f->step + 1;
        if (went_on && i + 1 < s->failure_cnt)
            continue;
        sl_fleet_event event =
            event_of(fleet, row, SL_RANK_FAULT_OOM, f->time_ns, went_on ? 0.4 : 0.95);
        event.has_step = s->has_steps;
        event.step = event.step_to = f->step;
        event.bytes = (int64_t)sl_min_u64(f->requested_bytes, INT64_MAX);
        event.line = f->line;
        return add(fleet, &event, err);
    }
    return SL_OK;
}

typedef enum moment_kind { START, LAST_STEP, END } moment_kind;

/* Median of the recordings' starts, last steps or ends on the common clock, less base_ns; NaN for fewer than two. */
static double median_time(const sl_fleet *fleet, moment_kind kind, double *room) {
    size_t cnt = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        int64_t own = kind == START ? row->of->start_ns
                      : kind == END ? row->of->end_ns
                                    : row->of->last_step_ns;
        if (row->of->source == SL_SOURCE_SLOG && own != SL_BIN_NONE)
            room[cnt++] = (double)(sl__row_time(row, own) - fleet->base_ns);
    }
    return cnt > 1 ? sl_stat_median(room, cnt) : (double)NAN;
}

/* What is usual among the ranks at the end of the job. */
typedef struct usual_end {
    double ends_ns, starts_ns, last_steps_ns; /* medians on the common clock, less base_ns; NaN */
    size_t short_cnt;                         /* ranks with fewer steps than the median rank */
    size_t slog_cnt, exited_cnt, killed_cnt;  /* recordings: all, closed, not closed */
    int64_t first_end_ns;                     /* of all ranks, on the common clock */
    bool ended_well;                          /* all of them */
    bool is_running;                          /* some of them */
} usual_end;

bool sl__rank_has_failed(const sl_rank_summary *s) {
    bool has_ended = s->end == SL_PROCESS_END_LEFT || s->end == SL_PROCESS_END_EXITED;
    return has_ended && s->exit_status.known && s->exit_status.value != 0;
}

/* A program that an exception ends closes its recording like one that is done; older recordings do not have its
 * status, and a rank may end too early with 0. So it counts by what the others did: they went on for a while, or were killed as soon as it was gone. */
static double confidence_of_exit(const usual_end *usual, int64_t end_ns, double gap_ns,
                                 double together_ns) {
    bool is_only = usual->exited_cnt == 1 && usual->killed_cnt + 1 == usual->slog_cnt;
    bool are_others_bad = usual->exited_cnt * 2 < usual->slog_cnt;
    if (are_others_bad && gap_ns > together_ns)
        return 0.7;
    if (is_only && usual->slog_cnt > 2 && end_ns == usual->first_end_ns)
        return 0.6;
    return gap_ns > fmax(EXIT_NS_MIN, LATE_STEPS_MIN * together_ns / TOGETHER_STEPS) ? 0.55 : 0;
}

/* An end counts when it came before the others': those that follow are in the chain as followers. */
static sl_status add_end(sl_fleet *fleet, const sl_fleet_row *row, const usual_end *usual,
                         sl_error *err) {
    const sl_rank_summary *s = row->of;
    bool is_killed = s->end == SL_PROCESS_END_KILLED, is_exit = s->end == SL_PROCESS_END_EXITED;
    if (s->source != SL_SOURCE_SLOG || isnan(usual->ends_ns))
        return SL_OK;
    double gap = usual->ends_ns - (double)(sl__row_time(row, s->end_ns) - fleet->base_ns);
    double together = fmax(TOGETHER_NS, TOGETHER_STEPS * fleet->step_ns);
    double confidence =
        is_exit ? confidence_of_exit(usual, sl__row_time(row, s->end_ns), gap, together) : 0;
    if (sl__rank_has_failed(s) ? gap >= together || confidence > 0 : is_killed && gap >= together)
        confidence = 0.85;
    if (confidence == 0)
        return SL_OK;
    sl_fleet_event event = event_of(
        fleet, row, is_killed ? SL_RANK_FAULT_KILLED : SL_RANK_FAULT_FAILED, s->end_ns, confidence);
    if (is_exit)
        event.per_step = fmax(0, gap / 1e9);
    return add(fleet, &event, err);
}

/* No step any more while the others made at least two, and for as long; a slow rank still makes steps. Or one step
 * less, where that is a few ranks of a job that ended badly: all others wait for them in the next collective.
 * Ranks of a running job are read one after the other, so one or two steps say nothing there. */
static sl_status add_silent(sl_fleet *fleet, const sl_fleet_row *row, const usual_end *usual,
                            sl_error *err) {
    const sl_rank_summary *s = row->of;
    if (!fleet->is_by_step || !s->has_steps || s->last_step >= fleet->last_step)
        return SL_OK;
    uint64_t behind = fleet->last_step - s->last_step;
    double quiet_ns =
        usual->last_steps_ns - (double)(sl__row_time(row, s->last_step_ns) - fleet->base_ns);
    bool is_few = usual->short_cnt * 10 <= fleet->rows.cnt || usual->short_cnt == 1;
    if (behind < 2 ? usual->ended_well || usual->is_running || !is_few
                   : quiet_ns < (usual->is_running ? 5 : 1.5) * fleet->step_ns)
        return SL_OK;
    sl_fleet_event event = event_of(fleet, row, SL_RANK_FAULT_SILENT, s->last_step_ns,
                                    behind < 2 ? 0.6
                                    : is_few   ? 0.9
                                               : 0.7);
    return add(fleet, &event, err);
}

static sl_status add_late(sl_fleet *fleet, const sl_fleet_row *row, double starts_ns,
                          sl_error *err) {
    if (isnan(starts_ns) || row->of->source != SL_SOURCE_SLOG)
        return SL_OK;
    double late = (double)(sl__row_time(row, row->of->start_ns) - fleet->base_ns) - starts_ns;
    if (late < fmax(LATE_NS_MIN, LATE_STEPS_MIN * fleet->step_ns))
        return SL_OK;
    sl_fleet_event event = event_of(fleet, row, SL_RANK_FAULT_LATE, row->of->start_ns, 0.8);
    event.has_step = false;
    event.per_step = late / 1e9;
    return add(fleet, &event, err);
}

static sl_status add_missing(sl_fleet *fleet, sl_error *err) {
    for (size_t i = 0; i < fleet->missing.cnt && i < MISSING_NAMED; i++) {
        sl_fleet_event event = {.fault = SL_RANK_FAULT_MISSING,
                                .rank = fleet->missing.at[i],
                                .idx = -1,
                                .confidence =
                                    fleet->missing.cnt * 2 > (size_t)fleet->world_size ? 0.3 : 0.7};
        SL_TRY(add(fleet, &event, err));
    }
    return SL_OK;
}

static usual_end find_usual(const sl_fleet *fleet, double *room) {
    usual_end usual = {.ends_ns = median_time(fleet, END, room),
                       .starts_ns = median_time(fleet, START, room),
                       .last_steps_ns = median_time(fleet, LAST_STEP, room),
                       .first_end_ns = INT64_MAX,
                       .ended_well = true};
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_rank_summary *s = fleet->rows.at[i].of;
        usual.slog_cnt += s->source == SL_SOURCE_SLOG;
        usual.exited_cnt += s->source == SL_SOURCE_SLOG && s->end == SL_PROCESS_END_EXITED;
        usual.killed_cnt += s->source == SL_SOURCE_SLOG && s->end == SL_PROCESS_END_KILLED;
        usual.first_end_ns =
            sl_min_i64(usual.first_end_ns, sl__row_time(&fleet->rows.at[i], s->end_ns));
        usual.short_cnt += s->has_steps && s->last_step < fleet->last_step;
        usual.ended_well = usual.ended_well && s->end == SL_PROCESS_END_EXITED;
        usual.is_running = usual.is_running || s->end == SL_PROCESS_END_RUNNING;
    }
    return usual;
}

static sl_status look_at_rows(sl_fleet *fleet, double *room, sl_error *err) {
    usual_end usual = find_usual(fleet, room);
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        SL_TRY(add_ooms(fleet, row, err));
        SL_TRY(add_end(fleet, row, &usual, err));
        SL_TRY(add_silent(fleet, row, &usual, err));
        SL_TRY(add_late(fleet, row, usual.starts_ns, err));
    }
    return add_missing(fleet, err);
}

sl_status sl__fleet_find_failures(sl_fleet *fleet, sl_error *err) {
    double *room = malloc((fleet->rows.cnt + 1) * sizeof *room);
    if (!room)
        return sl_fail_no_memory(err, "what failed");
    sl_status status = look_at_rows(fleet, room, err);
    free(room);
    return status;
}
