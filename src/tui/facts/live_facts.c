/* SPDX-License-Identifier: MIT */
#include "tui/facts/live_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/live/live_failure.h"
#include "api/live_ledger.h"
#include "base/core/str.h"
#include "base/text/human.h"
#include "read/slog/slog_process.h"
#include "run/process_tree.h"
#include "tui/facts/live_sites.h"

/* The rate is measured over this many steps. */
#define RATE_STEPS 20

typedef struct live_log {
    char *path; /* owned */
    sl_log_reader *reader;
    uint64_t names_seen; /* of stacks, frames and strings */
    sl_live_base base;   /* what the lines held at the first read */
} live_log;

struct sl_live {
    SL_VEC(live_log) logs;
    SL_VEC(char *) problems; /* owned */
    bool is_written;
};

/* What one refresh reads of a log. */
typedef struct reading {
    live_log *log;
    sl_tui_source *source;
    size_t process;
    sl_log_tables tables;
    sl_log_counters counters;
    sl_slog_facts *facts;
    int64_t window_us, now_us;
    bool wants_sites;
} reading;

static const char *keep_str(sl_tui_source *source, sl_str text) {
    const char *copy = sl_arena_copy(&source->arena, text.ptr, text.len);
    source->has_failed |= !copy;
    return copy ? copy : "";
}

static const char *keep(sl_tui_source *source, const char *text) {
    return keep_str(source, sl_str_of(text));
}

sl_status sl_live_open(char *const *paths, size_t cnt, sl_live **out, sl_error *err) {
    sl_live *live = calloc(1, sizeof *live);
    if (!live)
        return sl_fail_no_memory(err, "the recordings");
    sl_status status = SL_OK;
    for (size_t i = 0; i < cnt; i++) {
        live_log log = {.path = strdup(paths[i])};
        status = log.path ? sl_log_open(paths[i], &log.reader, err)
                          : sl_fail_no_memory(err, "the recordings");
        if (status == SL_OK && sl_vec_push(&live->logs, log))
            continue;
        free(log.path);
        char *problem = status < 0 && err ? strdup(err->text) : NULL;
        if (problem && !sl_vec_push(&live->problems, problem))
            free(problem);
    }
    if (live->logs.cnt == 0) {
        sl_live_close(live);
        return status < 0 ? status : sl_fail(err, SL_E_OPEN, "there is no recording to show");
    }
    *out = live;
    return SL_OK;
}

void sl_live_close(sl_live *live) {
    if (!live)
        return;
    for (size_t i = 0; i < live->logs.cnt; i++) {
        sl_log_reader_close(live->logs.at[i].reader);
        sl_live_base_free(&live->logs.at[i].base);
        free(live->logs.at[i].path);
    }
    for (size_t i = 0; i < live->problems.cnt; i++)
        free(live->problems.at[i]);
    sl_vec_free(&live->logs);
    sl_vec_free(&live->problems);
    free(live);
}

bool sl_live_is_written(const sl_live *live) {
    return live->is_written;
}

/* ---- the process ---- */

static void rate_steps(const sl_log_marks *marks, uint64_t now_ns, sl_tui_process *to) {
    uint64_t cnt = 0, first_ns = 0;
    for (size_t i = marks->cnt; i-- > 0;) {
        if (marks->at[i].kind != SL_EV_STEP)
            continue;
        if (++cnt <= RATE_STEPS + 1)
            first_ns = marks->at[i].time_ns;
    }
    if (cnt == 0)
        return;
    to->steps = sl_known_u64(cnt);
    uint64_t taken = cnt > RATE_STEPS ? RATE_STEPS : cnt - 1;
    if (taken && now_ns > first_ns)
        to->steps_per_s = sl_known_f64((double)taken * 1e9 / (double)(now_ns - first_ns));
}

static const char *label_of(sl_tui_source *source, const sl_process *process) {
    char text[SL_PROCESS_LABEL_CAP];
    sl_str name = sl_process_name(process);
    if (process->rank.known)
        snprintf(text, sizeof text, "rank %d (%.*s)", (int)process->rank.value,
                 (int)(name.len < 60 ? name.len : 60), name.ptr);
    else
        snprintf(text, sizeof text, "process %u (%.*s)", process->pid,
                 (int)(name.len < 60 ? name.len : 60), name.ptr);
    return keep(source, text);
}

static sl_status add_process(reading *r, sl_error *err) {
    sl_log_marks marks = {0};
    sl_log_ooms ooms = {0};
    sl_trace *trace = sl_trace_new(r->log->path, SL_SOURCE_SLOG);
    sl_status status = trace ? sl_slog_load_process(r->log->reader, trace, err)
                             : sl_fail_no_memory(err, "the process");
    if (status >= 0)
        status = sl_log_load_marks(r->log->reader, &marks, err);
    if (status >= 0)
        status = sl_log_load_ooms(r->log->reader, &ooms, err);
    if (status >= 0) {
        const sl_process *from = &trace->process;
        sl_tui_process to = {.path = keep(r->source, r->log->path),
                             .label = label_of(r->source, from),
                             .command = keep(r->source, from->command),
                             .host = keep(r->source, from->host),
                             .ending = sl_process_end_words(from->end),
                             .is_live = from->end == SL_PROCESS_END_RUNNING,
                             .pid = sl_known_u64(from->pid),
                             .length_us = r->now_us,
                             .oom_cnt = ooms.cnt};
        if (from->rank.known)
            to.rank = sl_known_u64((uint64_t)from->rank.value);
        for (size_t i = 0; i < r->tables.sites.cnt; i++)
            to.events += r->tables.sites.at[i].alloc_cnt + r->tables.sites.at[i].free_cnt;
        rate_steps(&marks, (uint64_t)r->now_us * 1000, &to);
        r->source->has_failed |= !sl_vec_push(&r->source->processes, to);
    }
    sl_trace_free(trace);
    sl_vec_free(&marks);
    sl_vec_free(&ooms);
    return status;
}

static sl_status add_alerts(reading *r, sl_error *err) {
    sl_log_alerts alerts = {0};
    SL_TRY(sl_log_load_alerts(r->log->reader, &alerts, err));
    for (size_t i = alerts.cnt; i-- > 0;) {
        sl_str text = sl_log_get_string(r->log->reader, (uint32_t)(alerts.at[i].text_word >> 32));
        sl_tui_alert row = {(int64_t)(alerts.at[i].time_ns / 1000), keep_str(r->source, text),
                            r->process};
        r->source->has_failed |= !sl_vec_push(&r->source->alerts, row);
    }
    sl_vec_free(&alerts);
    return SL_OK;
}

/* ---- curves ---- */

static bool make_curves(sl_tui_source *source, sl_tui_device *to) {
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) {
        to->curves[k] = sl_arena_alloc(&source->arena, SL_TUI_POINTS * sizeof(double));
        for (size_t i = 0; to->curves[k] && i < SL_TUI_POINTS; i++)
            to->curves[k][i] = NAN;
        if (!to->curves[k])
            return false;
    }
    return to->has_curves = true;
}

static size_t column_of(const sl_tui_device *to, uint64_t ns) {
    double share =
        ((double)ns / 1000 - (double)to->from_us) / (double)(to->to_us - to->from_us + 1);
    double column = share * SL_TUI_POINTS;
    return column < 0 ? 0 : column >= SL_TUI_POINTS ? SL_TUI_POINTS - 1 : (size_t)column;
}

/* A bin that begins before the window still gives the value at the window's start. */
static void fill_curve(double *curve, const sl_tui_device *to, const sl_log_bins *bins) {
    for (size_t i = 0; i < bins->cnt; i++) {
        const sl_log_bin *bin = &bins->at[i];
        uint64_t end_ns = i + 1 < bins->cnt ? bins->at[i + 1].start_ns : (uint64_t)to->to_us * 1000;
        if ((int64_t)(end_ns / 1000) < to->from_us)
            continue;
        size_t from = column_of(to, bin->start_ns), until = column_of(to, end_ns);
        if (isnan(curve[from]) || (double)bin->max > curve[from])
            curve[from] = (double)bin->max;
        for (size_t c = from + 1; c <= until; c++)
            curve[c] = (double)bin->last;
    }
}

static bool is_counter(const sl_log_counter_info *info, int device, sl_counter_kind kind) {
    return info->device == device && info->kind == (uint32_t)kind && !info->name;
}

static sl_status add_curve(reading *r, sl_tui_device *to, sl_tui_curve_kind curve,
                           sl_counter_kind kind, sl_error *err) {
    for (size_t i = 0; i < r->counters.cnt; i++) {
        const sl_log_counter_info *info = &r->counters.at[i];
        sl_log_bins bins = {0};
        if (!is_counter(info, to->number, kind))
            continue;
        SL_TRY(sl_log_load_curve(r->log->reader, info->idx, &bins, err));
        fill_curve(to->curves[curve], to, &bins);
        for (size_t b = 0; b < bins.cnt; b++)
            if (!to->peak[curve].known || bins.at[b].max > to->peak[curve].value)
                to->peak[curve] = sl_known_u64(bins.at[b].max);
        to->now[curve] = (sl_maybe_u64){info->last, info->is_available};
        sl_vec_free(&bins);
    }
    return SL_OK;
}

static sl_maybe_u64 capacity_of(const reading *r, int device) {
    for (size_t i = 0; i < r->counters.cnt; i++)
        if (is_counter(&r->counters.at[i], device, SL_COUNTER_DEVICE_TOTAL) &&
            r->counters.at[i].is_available)
            return sl_known_u64(r->counters.at[i].last);
    return (sl_maybe_u64){0};
}

/* ---- devices ---- */

static void keep_ledger(reading *r, sl_tui_device *to) {
    sl_live_ledger ledger;
    bool is_made = sl_live_ledger_fill(&ledger, to->number, &r->tables, &r->counters,
                                       r->log->reader, r->facts);
    sl_ledger_row *rows = sl_arena_alloc(&r->source->arena, (ledger.rows.cnt + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < ledger.rows.cnt; i++) {
        rows[i] = ledger.rows.at[i];
        rows[i].library.ptr = keep_str(r->source, ledger.rows.at[i].library);
    }
    to->ledger = (sl_ledger_state){.card_used = ledger.figures.card_used,
                                   .card_total = ledger.figures.card_total,
                                   .rows = rows,
                                   .row_cnt = rows ? ledger.rows.cnt : 0};
    r->source->has_failed |= !is_made || !rows;
    sl_live_ledger_fini(&ledger);
}

/* What will be, as long as the process runs. What cannot be read at this moment has no outlook, and is still shown. */
static void add_outlook(reading *r, sl_tui_device *to) {
    char text[SL_FORECAST_TEXT_CAP], what[SL_FAILURE_TEXT_CAP];
    sl_log_reader *reader = r->log->reader;
    sl_live_forecast live;
    sl_live_failure failure;
    if (sl_log_get_ending(reader) != SL_LOG_LIVE)
        return;
    if (sl_live_forecast_read(reader, &r->counters, &r->tables, to->number, &live, NULL) >= 0 &&
        live.forecast.is_expected)
        to->forecast =
            keep(r->source, sl_forecast_text(text, &live.forecast, sl_str_of(live.line)));
    if (sl_live_failure_find(reader, &r->counters, &r->tables, to->number, &failure, NULL) < 0 ||
        !failure.is_known)
        return;
    to->failure = keep(r->source, sl_live_failure_text(what, &failure));
    to->is_failing = sl_live_failure_is_near(&failure);
}

static sl_status add_device(reading *r, int number, sl_error *err) {
    bool is_host = number == SL_DEVICE_HOST;
    sl_tui_device to = {.process = r->process,
                        .number = number,
                        .has_time = true,
                        .to_us = r->now_us,
                        .capacity = capacity_of(r, number),
                        .growth_span = "since this screen was opened"};
    char text[64];
    snprintf(text, sizeof text, is_host ? "host memory" : "device %d", number);
    to.label = keep(r->source, text);
    if (r->window_us > 0 && r->now_us > r->window_us)
        to.from_us = r->now_us - r->window_us;
    if (!make_curves(r->source, &to))
        return sl_fail_no_memory(err, "the curves");
    SL_TRY(add_curve(r, &to, SL_TUI_ALLOCATED, SL_COUNTER_ALLOCATED, err));
    SL_TRY(add_curve(r, &to, SL_TUI_RESERVED, SL_COUNTER_RESERVED, err));
    SL_TRY(add_curve(r, &to, SL_TUI_USED, is_host ? SL_COUNTER_HOST_RSS : SL_COUNTER_DEVICE_USED,
                     err));
    add_outlook(r, &to);
    if (!is_host)
        keep_ledger(r, &to);
    if (r->wants_sites && !sl_live_sites_fill(&to.sites, &to.modules, &r->source->arena,
                                              r->log->reader, &r->tables, number, &r->log->base))
        r->source->has_failed = true;
    if (!sl_vec_push(&r->source->devices, to)) {
        sl_tree_free(&to.sites);
        sl_tree_free(&to.modules);
        return sl_fail_no_memory(err, "the devices");
    }
    return SL_OK;
}

/* Cards first: users care about them most. */
static sl_status add_devices(reading *r, sl_error *err) {
    bool is_seen[256] = {false};
    for (size_t i = 0; i < r->tables.sites.cnt; i++)
        is_seen[(uint8_t)(r->tables.sites.at[i].device + 1)] = true;
    for (int i = 1; i < 256; i++)
        if (is_seen[i])
            SL_TRY(add_device(r, i - 1, err));
    return is_seen[0] ? add_device(r, SL_DEVICE_HOST, err) : SL_OK;
}

/* ---- one refresh ---- */

static uint64_t count_names(const sl_log_reader *reader) {
    return 1 + sl_log_list_used(reader, SL_SECTION_STACKS) +
           sl_log_list_used(reader, SL_SECTION_FRAMES) +
           sl_log_list_used(reader, SL_SECTION_STRINGS);
}

static sl_status load(reading *r, sl_error *err) {
    sl_log_reader *reader = r->log->reader;
    SL_TRY(sl_log_refresh(reader, err));
    if (count_names(reader) != r->log->names_seen) {
        uint64_t seen = count_names(reader);
        SL_TRY(sl_log_load_names(reader, err));
        r->log->names_seen = seen;
    }
    const sl_fmt_state *state = sl_log_state(reader);
    r->now_us = (int64_t)((state->closed_ns ? state->closed_ns : state->heartbeat_ns) / 1000);
    SL_TRY(sl_log_load_tables(reader, &r->tables, err));
    SL_TRY(sl_log_load_counters(reader, &r->counters, err));
    SL_TRY(sl_slog_facts_new(reader, &r->facts, err));
    sl_slog_see_tables(r->facts, &r->tables);
    SL_TRY(add_process(r, err));
    SL_TRY(add_alerts(r, err));
    return add_devices(r, err);
}

sl_status sl_live_read(sl_live *live, const char *name, int64_t window_us, bool wants_sites,
                       sl_tui_source **out, sl_error *err) {
    sl_tui_source *source = calloc(1, sizeof *source);
    sl_status status = source ? SL_OK : sl_fail_no_memory(err, "the facts");
    live->is_written = false;
    if (source)
        source->name = keep(source, name);
    for (size_t i = 0; status >= 0 && i < live->logs.cnt; i++) {
        reading r = {.log = &live->logs.at[i],
                     .source = source,
                     .process = i,
                     .window_us = window_us,
                     .wants_sites = wants_sites};
        status = load(&r, err);
        live->is_written |= sl_log_get_ending(r.log->reader) == SL_LOG_LIVE;
        sl_log_tables_fini(&r.tables);
        sl_vec_free(&r.counters);
        sl_slog_facts_free(r.facts);
    }
    for (size_t i = 0; status >= 0 && i < live->problems.cnt; i++)
        source->has_failed |= !sl_vec_push(&source->notes, keep(source, live->problems.at[i]));
    if (status >= 0 && source->has_failed)
        status = sl_fail_no_memory(err, "the facts");
    if (status < 0)
        sl_tui_source_free(source);
    else
        *out = source;
    return status < 0 ? status : SL_OK;
}
