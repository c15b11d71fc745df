/* SPDX-License-Identifier: MIT */
/* Which lines' repairs lower the reserved peak most (W6). */
#include <stdlib.h>

#include "base/core/order.h"
#include "whatif/whatif_impl.h"

/* The number of candidates to replay: as many as give this many calls, within these bounds.
 * Limited by calls, not by time, so that an answer is the same on every machine. */
#define CALLS_MAX      ((size_t)64 << 20)
#define CANDIDATES_MIN 10
#define CANDIDATES_MAX 64
/* A line leaks when its blocks of at least this many steps are never dropped, and what it
 * dropped later is less than half of that (SL_T_LEAK_MAX_EVICTED of analyze/thresholds.h): a
 * cache drops as much as it keeps. */
#define LEAK_STEPS_MIN 3

/* The overdue blocks of a line, over the whole trace. */
typedef struct line_habit {
    uint64_t never_bytes, kept_bytes;
    uint32_t never_steps, last_never_step; /* steps with a block that is never dropped */
    double bytes, byte_steps; /* of all blocks; times the steps that a block outlives its own */
} line_habit;

typedef struct candidate {
    sl_whatif_line line;
    uint32_t site; /* SL_IDX_NONE = all lines */
} candidate;

/* What each line's repair would remove at one moment; by site. */
typedef struct line_sums {
    uint64_t bytes, blocks;
} line_sums;

enum { BY_TIME, BY_WAIT, BY_STREAM, SUM_KINDS };

typedef struct finder {
    sl_whatif *whatif;
    sl_repairs repairs;
    line_habit *habits; /* owned; by site */
    bool *is_leak;      /* owned; by site */
    size_t leak_cnt;
    line_sums *sums[SUM_KINDS]; /* owned; by site; the larger of both moments */
    line_sums *now[SUM_KINDS];  /* owned; by site; of one moment */
    SL_VEC(candidate) candidates;
} finder;

/* ---- what a line does ---- */

static void note_habit(finder *f, const sl_steps *steps, size_t i) {
    const sl_replay *replay = f->whatif->calls->replay;
    const sl_life *life = &replay->lives.at[i];
    line_habit *habit = &f->habits[sl_sites_of(f->repairs.sites, life)];
    uint32_t step = f->repairs.step_of_life[i];
    uint32_t last = (uint32_t)sl_min_u64(life->drop_event, sl_replay_end(replay));
    habit->bytes += (double)life->block_bytes;
    habit->byte_steps += (double)life->block_bytes * (double)(sl_steps_at(steps, last) - step);
    if (f->repairs.overdue[i] == SL_OVERDUE_KEPT)
        habit->kept_bytes += life->block_bytes;
    if (f->repairs.overdue[i] != SL_OVERDUE_NEVER)
        return;
    habit->never_bytes += life->block_bytes;
    habit->never_steps += habit->never_steps == 0 || habit->last_never_step != step;
    habit->last_never_step = step;
}

static void find_leaks(finder *f) {
    for (size_t i = 0; i < f->repairs.sites->sites.cnt; i++) {
        const line_habit *habit = &f->habits[i];
        f->is_leak[i] =
            habit->never_steps >= LEAK_STEPS_MIN && habit->kept_bytes < habit->never_bytes / 2;
        f->leak_cnt += f->is_leak[i];
    }
}

static sl_status find_habits(finder *f, sl_error *err) {
    const sl_replay *replay = f->whatif->calls->replay;
    const sl_steps *steps;
    SL_TRY(sl_run_steps(f->whatif->calls->device, &steps, err));
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++)
        if (f->repairs.overdue[i])
            note_habit(f, steps, i);
    find_leaks(f);
    return SL_OK;
}

/* ---- who holds what at the peak ---- */

static void count(finder *f, unsigned kind, uint32_t site, const sl_life *life) {
    f->now[kind][site].bytes += life->block_bytes;
    f->now[kind][site].blocks++;
}

static void count_life(finder *f, uint32_t id, uint32_t event) {
    const sl_calls *calls = f->whatif->calls;
    const sl_life *life = &calls->replay->lives.at[id];
    uint32_t site = sl_sites_of(f->repairs.sites, life), request = f->repairs.request_of_life[id];
    if (request == SL_IDX_NONE)
        return;
    uint32_t group = calls->list.at[request].group;
    if (f->repairs.overdue[id] && f->repairs.free_event[id] <= event)
        count(f, BY_TIME, site, life);
    if (life->drop_event <= event && sl__whatif_has_waits(f->whatif))
        count(f, BY_WAIT, site, life);
    if (calls->groups.at[group].one_stream != group && sl__whatif_has_streams(f->whatif))
        count(f, BY_STREAM, site, life);
}

static bool count_at(finder *f, uint32_t event) {
    size_t site_cnt = f->repairs.sites->sites.cnt;
    sl_life_ids live = {0};
    bool ok = event == SL_EVENT_BEFORE || sl_replay_live_at(f->whatif->calls->replay, event, &live);
    for (size_t i = 0; ok && i < live.cnt; i++)
        count_life(f, live.at[i], event);
    sl_vec_free(&live);
    for (unsigned kind = 0; kind < SUM_KINDS; kind++)
        for (size_t i = 0; i < site_cnt; i++) {
            if (f->now[kind][i].bytes > f->sums[kind][i].bytes)
                f->sums[kind][i] = f->now[kind][i];
            f->now[kind][i] = (line_sums){0};
        }
    return ok;
}

static bool add_candidate(finder *f, unsigned kind, uint32_t site) {
    static const sl_repair_kind kinds[SUM_KINDS] = {SL_REPAIR_EARLY, SL_REPAIR_RECORD_STREAM,
                                                    SL_REPAIR_STREAM};
    const line_sums *sums = &f->sums[kind][site];
    candidate own = {.site = site,
                     .line = {.kind = kinds[kind],
                              .site = f->repairs.sites->sites.at[site].site,
                              .bytes = sums->bytes,
                              .blocks = sums->blocks}};
    if (kind == BY_TIME) {
        own.line.step_mean = f->habits[site].byte_steps / f->habits[site].bytes;
        own.line.kind = f->is_leak[site] ? SL_REPAIR_LEAK : SL_REPAIR_EARLY;
    }
    return sums->bytes == 0 || sl_vec_push(&f->candidates, own);
}

static int order_candidates(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->line.bytes != y->line.bytes)
        return SL_ORDER(y->line.bytes, x->line.bytes);
    return x->site != y->site ? SL_ORDER(x->site, y->site) : SL_ORDER(x->line.kind, y->line.kind);
}

static bool find_candidates(finder *f, uint32_t peak_event) {
    if (!count_at(f, peak_event) || !count_at(f, f->whatif->calls->replay->peak_active.event))
        return false;
    for (unsigned kind = 0; kind < SUM_KINDS; kind++)
        for (uint32_t site = 0; site < f->repairs.sites->sites.cnt; site++)
            if (!add_candidate(f, kind, site))
                return false;
    if (f->candidates.cnt)
        qsort(f->candidates.at, f->candidates.cnt, sizeof *f->candidates.at, order_candidates);
    f->whatif->lines.candidate_cnt = f->candidates.cnt;
    size_t affordable = CALLS_MAX / (f->whatif->calls->list.cnt + 1);
    affordable = sl_min_size(sl_max_size(affordable, CANDIDATES_MIN), CANDIDATES_MAX);
    f->candidates.cnt = sl_min_size(f->candidates.cnt, affordable);
    f->whatif->lines.tried_cnt = f->candidates.cnt;
    return true;
}

/* Adds the repairs of all lines at once, after the candidates. */
static bool add_totals(finder *f) {
    const struct {
        sl_repair_kind kind;
        bool is_there;
    } totals[] = {
        {SL_REPAIR_LEAK, f->leak_cnt > 0},
        {SL_REPAIR_EARLY, f->repairs.step_cnt > 0 && !f->whatif->program.frees_late},
        {SL_REPAIR_RECORD_STREAM, sl__whatif_has_waits(f->whatif)},
        {SL_REPAIR_STREAM, sl__whatif_has_streams(f->whatif)},
    };
    for (size_t i = 0; i < SL_COUNT_OF(totals); i++) {
        candidate all = {.site = SL_IDX_NONE, .line = {.kind = totals[i].kind}};
        if (totals[i].is_there && !sl_vec_push(&f->candidates, all))
            return false;
    }
    return true;
}

/* ---- the replays ---- */

static bool make_repair(const finder *f, const candidate *own, sl_repair *repair,
                        sl_pass_options *options) {
    bool is_all = own->site == SL_IDX_NONE;
    options->repair = repair;
    switch (own->line.kind) {
    case SL_REPAIR_LEAK: return sl_repair_add_overdue(repair, &f->repairs, own->site, f->is_leak);
    case SL_REPAIR_EARLY:
        return is_all ? sl_repair_add_late(repair, &f->repairs)
                      : sl_repair_add_overdue(repair, &f->repairs, own->site, NULL);
    case SL_REPAIR_RECORD_STREAM:
        options->frees_early |= is_all;
        return is_all || sl_repair_add_drops(repair, &f->repairs, own->site);
    case SL_REPAIR_STREAM:
        options->is_one_stream |= is_all;
        return is_all || sl_repair_add_moves(repair, &f->repairs, own->site);
    }
    return true;
}

static sl_status replay_repair(const finder *f, candidate *own, sl_pass_options *options,
                               sl_error *err) {
    const sl_whatif *whatif = f->whatif;
    sl_pass pass;
    SL_TRY(sl_pass_run(whatif->calls, options, &pass, err));
    own->line.peak = pass.stats.reserved_peak;
    own->line.saves = whatif->lines.peak - sl_min_u64(own->line.peak, whatif->lines.peak);
    if (!whatif->lines.has_limit)
        return SL_OK;
    options->limit_bytes = whatif->limit_bytes;
    SL_TRY(sl_pass_run(whatif->calls, options, &pass, err));
    own->line.fits = !pass.has_failed;
    return SL_OK;
}

static sl_pass_options without_limit(const sl_whatif *whatif) {
    sl_pass_options options = sl_whatif_pass(whatif, &whatif->calls->settings);
    options.limit_bytes = SL_ALLOC_NO_LIMIT;
    return options;
}

static sl_status try_candidate(void *with, size_t i, sl_error *err) {
    const finder *f = with;
    candidate *own = &f->candidates.at[i];
    sl_repair repair = {0};
    sl_pass_options options = without_limit(f->whatif);
    sl_status status = make_repair(f, own, &repair, &options)
                           ? replay_repair(f, own, &options, err)
                           : sl_fail_no_memory(err, "the repair of a line");
    sl_repair_fini(&repair);
    return status;
}

/* ---- the answer ---- */

static int order_lines(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->line.saves != y->line.saves)
        return SL_ORDER(y->line.saves, x->line.saves);
    return order_candidates(a, b);
}

/* A saving must be larger than the effect of the placement of segments alone (W3). */
static bool choose_lines(finder *f) {
    sl_whatif_lines *lines = &f->whatif->lines;
    uint64_t noise = f->whatif->rows.at[0].place_range;
    qsort(f->candidates.at, lines->tried_cnt, sizeof *f->candidates.at, order_lines);
    for (size_t i = 0; i < f->candidates.cnt; i++) {
        const sl_whatif_line *line = &f->candidates.at[i].line;
        bool is_all = i >= lines->tried_cnt;
        if (is_all && !sl_vec_push(&lines->all, *line))
            return false;
        if (!is_all && line->saves > noise && lines->at.cnt < SL_WHATIF_LINES &&
            !sl_vec_push(&lines->at, *line))
            return false;
    }
    return true;
}

static bool make_room(finder *f) {
    size_t cnt = f->repairs.sites->sites.cnt + 1;
    f->habits = calloc(cnt, sizeof *f->habits);
    f->is_leak = calloc(cnt, sizeof *f->is_leak);
    bool ok = f->habits && f->is_leak;
    for (unsigned kind = 0; kind < SUM_KINDS; kind++) {
        f->sums[kind] = calloc(cnt, sizeof *f->sums[kind]);
        f->now[kind] = calloc(cnt, sizeof *f->now[kind]);
        ok = ok && f->sums[kind] && f->now[kind];
    }
    return ok;
}

static sl_status find_all(finder *f, unsigned thread_cnt, sl_error *err) {
    sl_pass_options options = without_limit(f->whatif);
    sl_pass pass;
    SL_TRY(sl_repairs_init(&f->repairs, f->whatif->calls, err));
    if (!make_room(f))
        return sl_fail_no_memory(err, "the lines of the answer");
    SL_TRY(find_habits(f, err));
    SL_TRY(sl_pass_run(f->whatif->calls, &options, &pass, err));
    f->whatif->lines.peak = pass.stats.reserved_peak;
    f->whatif->lines.has_limit = f->whatif->rows.at[0].pass.has_failed;
    if (!find_candidates(f, pass.peak_event) || !add_totals(f))
        return sl_fail_no_memory(err, "the lines of the answer");
    if (f->candidates.cnt == 0)
        return SL_OK;
    SL_TRY(sl__whatif_in_threads(f->candidates.cnt, thread_cnt, try_candidate, f, err));
    return choose_lines(f) ? SL_OK : sl_fail_no_memory(err, "the lines of the answer");
}

sl_status sl__whatif_find_lines(sl_whatif *whatif, const sl_whatif_options *options,
                                sl_error *err) {
    finder f = {.whatif = whatif};
    sl_status status = find_all(&f, options->thread_cnt, err);
    whatif->lines.is_known = status == SL_OK;
    sl_repairs_fini(&f.repairs);
    free(f.habits);
    free(f.is_leak);
    for (unsigned kind = 0; kind < SUM_KINDS; kind++) {
        free(f.sums[kind]);
        free(f.now[kind]);
    }
    sl_vec_free(&f.candidates);
    return status;
}
