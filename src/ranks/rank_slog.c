/* SPDX-License-Identifier: MIT */
/* The summary of a recording, from its head: totals by site, marks, curves and failures cover the whole run, also
 * where the ring has wrapped. */
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "log/read/log_reader.h"
#include "ranks/rank_summary.h"
#include "read/slog/slog_process.h"
#include "read/slog/slog_stack.h"
#include "run/lines/sites.h"

/* Stacks whose line is looked up, by their peak. */
#define SITES_MAX 64u

typedef struct slog_summary {
    sl_rank_summary *out;
    sl_log_reader *log;
    sl_trace *trace; /* the texts of the stacks */
    sl_log_marks marks;
    sl_log_bins curve; /* of the allocated bytes of the fullest device */
    int64_t base_ns;   /* start of the log, since 1970 */
} slog_summary;

/* ---- who ---- */

static sl_status take_process(slog_summary *s, sl_error *err) {
    sl_rank_summary *out = s->out;
    const sl_fmt_state *state = sl_log_state(s->log);
    SL_TRY(sl_slog_load_process(s->log, s->trace, err));
    const sl_process *p = &s->trace->process;
    out->source = SL_SOURCE_SLOG;
    sl__rank_take_process(out, p);
    out->has_ended = p->end != SL_PROCESS_END_RUNNING && p->end != SL_PROCESS_END_UNKNOWN;
    out->is_left_out = p->is_loader_worker;
    out->is_cut = sl_log_is_cut(s->log);
    out->start_ns = s->base_ns;
    uint64_t last = state->closed_ns ? state->closed_ns : state->heartbeat_ns;
    out->end_ns = s->base_ns + (int64_t)(last < INT64_MAX / 4 ? last : 0);
    return SL_OK;
}

/* ---- curves ---- */

/* The counter of the allocated bytes with the highest value; a card before the host. */
static sl_status load_allocated(slog_summary *s, sl_error *err) {
    sl_log_counters counters;
    sl_status status = sl_log_load_counters(s->log, &counters, err);
    if (status < 0)
        return status;
    bool has_card = false;
    for (size_t i = 0; i < counters.cnt; i++)
        has_card |= counters.at[i].kind == SL_COUNTER_ALLOCATED && counters.at[i].device >= 0;
    for (size_t i = 0; i < counters.cnt && status >= 0; i++) {
        const sl_log_counter_info *c = &counters.at[i];
        if (c->kind == SL_COUNTER_DEVICE_TOTAL && c->device >= 0 && c->is_available)
            s->out->capacity_bytes = sl_known_u64(c->last);
        if (c->kind != SL_COUNTER_ALLOCATED || (has_card && c->device < 0))
            continue;
        sl_log_bins bins;
        status = sl_log_load_curve(s->log, c->idx, &bins, err);
        uint64_t most = 0;
        for (size_t k = 0; status >= 0 && k < bins.cnt; k++)
            most = sl_max_u64(most, bins.at[k].max);
        if (status >= 0 && (!s->out->peak_bytes.known || most > s->out->peak_bytes.value)) {
            s->out->peak_bytes = sl_known_u64(most);
            s->out->last_bytes = sl_known_u64(c->last);
            sl_vec_free(&s->curve);
            s->curve = bins;
        } else if (status >= 0)
            sl_vec_free(&bins);
    }
    sl_vec_free(&counters);
    return status;
}

/* The most within [from, to], where `next` is where the search for later ranges goes on. Not known where the curve
 * is coarser than that: a bin of many steps would be the peak of all of them. */
static int64_t peak_between(const sl_log_bins *curve, size_t *next, uint64_t from, uint64_t to) {
    int64_t most = SL_BIN_NONE;
    while (*next < curve->cnt && curve->at[*next].start_ns + curve->at[*next].length_ns <= from)
        (*next)++;
    for (size_t i = *next; i < curve->cnt && curve->at[i].start_ns <= to; i++) {
        if (curve->at[i].length_ns > 2 * (to - from))
            return SL_BIN_NONE;
        most = sl_max_i64(most, (int64_t)curve->at[i].max);
    }
    return most;
}

/* The peaks of bins of steps, which are longer in a long run, as those of its curves are. */
static void take_peaks(slog_summary *s) {
    const sl_rank_curve *curve = &s->out->curve;
    int64_t before_ns = s->base_ns;
    size_t next = 0;
    for (uint32_t i = 0; i < curve->cnt; i++) {
        sl_rank_bin *bin = &curve->at[i];
        if (bin->bytes == SL_BIN_NONE || bin->time_ns <= before_ns)
            continue;
        bin->peak = peak_between(&s->curve, &next, (uint64_t)(before_ns - s->base_ns),
                                 (uint64_t)(bin->time_ns - s->base_ns));
        before_ns = bin->time_ns;
    }
}

/* As sl_steps_number: where the marks' numbers do not ascend, steps are counted from 0. */
static void number_steps(slog_summary *s) {
    uint64_t least = 0, cnt = 0;
    bool do_ascend = true;
    for (size_t i = 0; i < s->marks.cnt; i++) {
        const sl_log_mark_info *m = &s->marks.at[i];
        if (m->kind != SL_EV_STEP)
            continue;
        do_ascend &= m->step >= least && m->step < UINT64_MAX;
        least = m->step + 1;
    }
    for (size_t i = 0; i < s->marks.cnt && !do_ascend; i++)
        if (s->marks.at[i].kind == SL_EV_STEP)
            s->marks.at[i].step = cnt++;
}

/* The bytes at the end of a step are exact. */
static bool take_steps(slog_summary *s) {
    sl_rank_summary *out = s->out;
    out->last_step_ns = SL_BIN_NONE;
    number_steps(s);
    for (size_t i = 0; i < s->marks.cnt; i++) {
        const sl_log_mark_info *m = &s->marks.at[i];
        if (m->kind != SL_EV_STEP || !m->value.known || m->time_ns > INT64_MAX / 4)
            continue;
        sl_rank_bin bin = {(int64_t)sl_min_u64(m->value.value, INT64_MAX / 4), SL_BIN_NONE,
                           s->base_ns + (int64_t)m->time_ns};
        if (!sl_rank_curve_add(&out->curve, m->step, &bin))
            return false;
        if (!out->step_cnt++)
            out->first_step = m->step;
        out->last_step = sl_max_u64(out->last_step, m->step);
        out->last_step_ns = sl_max_i64(out->last_step_ns, bin.time_ns);
    }
    out->has_steps = out->step_cnt > 0;
    take_peaks(s);
    return true;
}

/* A program without steps: by the seconds since its first event. */
static bool take_seconds(slog_summary *s) {
    for (size_t i = 0; i < s->curve.cnt; i++) {
        const sl_log_bin *b = &s->curve.at[i];
        uint64_t from_ns = b->start_ns - s->curve.at[0].start_ns;
        sl_rank_bin bin = {(int64_t)b->last, (int64_t)b->max, s->base_ns + (int64_t)b->start_ns};
        if (!sl_rank_curve_add(&s->out->curve, from_ns / UINT64_C(1000000000), &bin))
            return false;
    }
    return true;
}

static sl_status take_curve(slog_summary *s, sl_error *err) {
    SL_TRY(load_allocated(s, err));
    SL_TRY(sl_log_load_marks(s->log, &s->marks, err));
    bool has_room = take_steps(s) && (s->out->has_steps || take_seconds(s));
    return has_room ? SL_OK : sl_fail_no_memory(err, "the steps of a rank");
}

/* ---- lines ---- */

void sl__rank_add_line(sl_arena *arena, sl_rank_line *lines, size_t *cnt,
                       const sl_rank_line *line) {
    size_t least = 0;
    for (size_t i = 0; i < *cnt; i++) {
        if (strcmp(lines[i].text, line->text) == 0) {
            lines[i].peak_bytes += line->peak_bytes;
            lines[i].live_bytes += line->live_bytes;
            lines[i].alloc_cnt += line->alloc_cnt;
            return;
        }
        if (lines[i].peak_bytes < lines[least].peak_bytes)
            least = i;
    }
    size_t at = *cnt < SL_RANK_LINES ? (*cnt)++ : least;
    if (at == least && *cnt == SL_RANK_LINES && lines[at].text &&
        lines[at].peak_bytes >= line->peak_bytes)
        return;
    lines[at] = *line;
    lines[at].text = sl_arena_copy(arena, line->text, strlen(line->text));
    if (!lines[at].text)
        lines[at].text = "?";
}

static int compare_peaks(const void *a, const void *b) {
    const sl_log_site *x = a, *y = b;
    return SL_ORDER(y->peak_bytes, x->peak_bytes);
}

static int compare_lines(const void *a, const void *b) {
    const sl_rank_line *x = a, *y = b;
    return x->peak_bytes != y->peak_bytes ? SL_ORDER(y->peak_bytes, x->peak_bytes)
                                          : strcmp(x->text, y->text);
}

static const char *line_of(slog_summary *s, uint32_t stack) {
    uint32_t id = sl_slog_take_stack(s->log, s->trace, stack);
    return id == SL_STACK_NONE ? "?" : sl_site_text(sl_user_site(s->trace, id), &s->trace->arena);
}

static bool is_nccl(const slog_summary *s, const sl_log_site *site) {
    sl_str label = sl_log_get_label(s->log, site->label);
    return site->domain == SL_DOMAIN_DRIVER && label.len >= 4 &&
           memmem(label.ptr, label.len, "nccl", 4) != NULL;
}

static sl_status take_lines(slog_summary *s, sl_error *err) {
    sl_log_tables tables;
    size_t taken = 0;
    sl_status status = sl_log_load_names(s->log, err);
    if (status >= 0)
        status = sl_log_load_tables(s->log, &tables, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < tables.threads.cnt; i++)
        s->out->event_cnt += tables.threads.at[i].published;
    if (tables.sites.cnt > 1)
        qsort(tables.sites.at, tables.sites.cnt, sizeof *tables.sites.at, compare_peaks);
    for (size_t i = 0; i < tables.sites.cnt; i++) {
        const sl_log_site *site = &tables.sites.at[i];
        bool from_nccl = is_nccl(s, site);
        if (!from_nccl && (site->domain != SL_DOMAIN_BLOCK || taken++ >= SITES_MAX))
            continue;
        sl_rank_line line = {line_of(s, site->stack), site->peak_bytes, site->live_bytes,
                             site->alloc_cnt};
        sl__rank_add_line(&s->out->arena, from_nccl ? s->out->nccl : s->out->lines,
                          from_nccl ? &s->out->nccl_cnt : &s->out->line_cnt, &line);
    }
    qsort(s->out->lines, s->out->line_cnt, sizeof *s->out->lines, compare_lines);
    qsort(s->out->nccl, s->out->nccl_cnt, sizeof *s->out->nccl, compare_lines);
    sl_log_tables_fini(&tables);
    return SL_OK;
}

/* ---- failures ---- */

/* The step that was under way: the one that ended next, else the one after the last. */
static uint64_t step_at(const slog_summary *s, uint64_t time_ns) {
    uint64_t step = 0;
    for (size_t i = 0; i < s->marks.cnt; i++) {
        if (s->marks.at[i].kind != SL_EV_STEP)
            continue;
        if (s->marks.at[i].time_ns > time_ns)
            return s->marks.at[i].step;
        step = s->marks.at[i].step + 1;
    }
    return step;
}

static sl_status take_failures(slog_summary *s, sl_error *err) {
    sl_rank_summary *out = s->out;
    sl_log_ooms ooms;
    SL_TRY(sl_log_load_ooms(s->log, &ooms, err));
    out->failure_total = sl_log_list_used(s->log, SL_SECTION_OOMS);
    for (size_t i = 0; i < ooms.cnt && out->failure_cnt < SL_RANK_FAILURES; i++) {
        const sl_fmt_oom *oom = &ooms.at[i];
        const char *line = line_of(s, (uint32_t)(oom->device_word >> 32));
        out->failures[out->failure_cnt++] =
            (sl_rank_failure){s->base_ns + (int64_t)sl_min_u64(oom->time_ns, INT64_MAX / 4),
                              step_at(s, oom->time_ns), oom->requested, sl__rank_keep(out, line)};
    }
    sl_vec_free(&ooms);
    return SL_OK;
}

/* ---- all of it ---- */

static sl_status summarize(slog_summary *s, sl_error *err) {
    SL_TRY(sl_log_load_names(s->log, err));
    SL_TRY(take_process(s, err));
    SL_TRY(take_lines(s, err));
    SL_TRY(take_curve(s, err));
    return take_failures(s, err);
}

sl_status sl_rank_summary_slog(sl_rank_summary *summary, const char *path, sl_error *err) {
    slog_summary s = {.out = summary};
    summary->last_step_ns = SL_BIN_NONE;
    SL_TRY(sl_log_open_head(path, &s.log, err));
    s.base_ns = (int64_t)sl_min_u64(sl_log_header(s.log)->start_wall_ns, INT64_MAX / 4);
    s.trace = sl_trace_new(path, SL_SOURCE_SLOG);
    sl_status status = s.trace ? summarize(&s, err) : sl_fail_no_memory(err, "the lines of a rank");
    sl_vec_free(&s.marks);
    sl_vec_free(&s.curve);
    sl_trace_free(s.trace);
    sl_log_reader_close(s.log);
    return status;
}
