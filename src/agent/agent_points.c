/* SPDX-License-Identifier: MIT */
/* The figures of a recording at points in time: agent_rank.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent_rank.h"
#include "base/core/order.h"
#include "base/core/str.h"
#include "model/counter_series.h"
#include "run/ledger.h"

#define MS UINT64_C(1000000)

/* A thread that was interrupted between its clock and its bin is late by less than this. */
#define LATE_NS (2 * SL_CURVE_BIN_NS)

/* Marks that are looked at to find the step before a moment. */
#define MARKS_BACK 4096

/* One counter while points are made: its bins, and what held so far. */
typedef struct track {
    sl_log_bins bins;
    size_t next;
    sl_maybe_u64 value;
    uint64_t peak;    /* since the last point */
    uint64_t gone_ns; /* from here on it could not be read any more; UINT64_MAX = it could */
} track;

typedef struct gathering {
    sl_agent_rank *rank;
    sl_agent_points *out;
    uint64_t from_ns;
    uint64_t ends_ns[SL_AGENT_POINTS_MAX]; /* bins that end by then belong to the point */
    track *tracks;                         /* by counter */
    size_t track_cnt;
    sl_ledger_rows rows;
} gathering;

void sl_agent_walk_fini(sl_agent_walk *walk) {
    sl_vec_free(&walk->held.values);
    sl_vec_free(&walk->ahead.values);
}

void sl_agent_points_fini(sl_agent_points *points) {
    sl_vec_free(&points->values);
}

static sl_status no_memory(sl_error *err) {
    return sl_fail_no_memory(err, "the points of a recording");
}

/* Moments before the start are the start. */
static uint64_t to_ns(const sl_agent_rank *rank, int64_t ms) {
    uint64_t start = sl_log_header(rank->reader)->start_wall_ns, at = (uint64_t)ms * MS;
    return ms > 0 && at > start ? at - start : 0;
}

static int64_t to_ms(const sl_agent_rank *rank, uint64_t ns) {
    return (int64_t)((sl_log_header(rank->reader)->start_wall_ns + ns + MS - 1) / MS);
}

/* ---- which points ---- */

/* Whether a bin ends between the two moments. */
static bool has_bin(const sl_agent_rank *rank, uint64_t after_ns, uint64_t until_ns) {
    uint64_t length = sl_log_bin_ns(rank->reader, until_ns);
    return until_ns / length > after_ns / length;
}

static void add_point(gathering *g, int64_t ms, uint64_t end_ns) {
    g->ends_ns[g->out->cnt] = end_ns;
    g->out->times_ms[g->out->cnt++] = ms;
    g->out->next_ms = ms;
}

/* The last point of a recording that has ended is its end, and the bin in which it ended counts. */
static void plan_end(gathering *g, size_t max) {
    uint64_t end = sl_log_newest_ns(g->rank->reader);
    int64_t end_ms = to_ms(g->rank, end);
    if (g->out->next_ms >= end_ms) {
        g->out->is_complete = true;
    } else if (g->out->cnt < max) {
        add_point(g, end_ms, end + sl_log_bin_ns(g->rank->reader, end));
        g->out->is_complete = true;
    }
}

static void plan(gathering *g, int64_t from_ms, int64_t interval_ms, size_t max) {
    const sl_agent_rank *rank = g->rank;
    uint64_t newest = sl_log_newest_ns(rank->reader), last = g->from_ns;
    uint64_t limit = rank->has_ended ? newest : newest > LATE_NS ? newest - LATE_NS : 0;
    int64_t ms = from_ms - from_ms % interval_ms + interval_ms;
    g->out->next_ms = from_ms;
    for (; g->out->cnt < max && to_ns(rank, ms) <= limit; ms += interval_ms)
        if (has_bin(rank, last, to_ns(rank, ms))) {
            last = to_ns(rank, ms);
            add_point(g, ms, last);
        }
    bool has_all = to_ns(rank, ms) > limit;
    if (rank->has_ended && has_all)
        plan_end(g, max);
    g->out->is_edge = rank->has_ended ? g->out->is_complete : has_all;
}

/* ---- counters over time ---- */

static sl_status carry_in(gathering *g, const sl_agent_held *held, uint32_t i, sl_error *err) {
    track *t = &g->tracks[i];
    sl_log_bin bin;
    bool is_found;
    if (held && i < held->values.cnt) {
        t->value = held->values.at[i];
        return SL_OK;
    }
    SL_TRY(sl_log_find_before(g->rank->reader, i, g->from_ns, &bin, &is_found, err));
    t->value = (sl_maybe_u64){is_found ? bin.last : 0, is_found};
    return SL_OK;
}

static bool is_wanted(const sl_agent_counter *counter) {
    switch (counter->kind) {
    case SL_COUNTER_ALLOCATED:
    case SL_COUNTER_RESERVED:
    case SL_COUNTER_DEVICE_USED:
    case SL_COUNTER_DEVICE_TOTAL:
    case SL_COUNTER_PROCESS_USED:
    case SL_COUNTER_DRIVER_USED:
    case SL_COUNTER_HOST_RSS: return true;
    case SL_COUNTER_CUSTOM:
        return strcmp(counter->name, SL_SERIES_OTHER_PROCESSES) == 0 ||
               strcmp(counter->name, SL_SERIES_DRIVER_RESERVED) == 0;
    default: return false;
    }
}

static sl_status load_tracks(gathering *g, const sl_agent_held *held, uint64_t to, sl_error *err) {
    g->track_cnt = g->rank->counters.cnt;
    g->tracks = calloc(g->track_cnt ? g->track_cnt : 1, sizeof *g->tracks);
    if (!g->tracks)
        return no_memory(err);
    for (size_t i = 0; i < g->rank->newest.cnt; i++) {
        const sl_log_counter_info *info = &g->rank->newest.at[i];
        track *t = &g->tracks[info->idx];
        t->gone_ns = info->is_available ? UINT64_MAX : info->last_ns + 1;
        if (!is_wanted(&g->rank->counters.at[info->idx]))
            continue;
        SL_TRY(carry_in(g, held, info->idx, err));
        t->peak = t->value.value;
        SL_TRY(sl_log_load_window(g->rank->reader, info->idx, g->from_ns, to, &t->bins, err));
    }
    return SL_OK;
}

/* Takes the bins that end by then. */
static void advance(track *t, uint64_t end_ns) {
    t->peak = t->value.known ? t->value.value : 0;
    for (; t->next < t->bins.cnt; t->next++) {
        const sl_log_bin *bin = &t->bins.at[t->next];
        if (bin->start_ns + bin->length_ns > end_ns)
            break;
        t->value = sl_known_u64(bin->last);
        t->peak = sl_max_u64(t->peak, bin->max);
    }
    if (end_ns >= t->gone_ns)
        t->value.known = false;
}

static const track *find_track(const gathering *g, uint32_t kind, int device, const char *name) {
    for (size_t i = 0; i < g->track_cnt; i++) {
        const sl_agent_counter *c = &g->rank->counters.at[i];
        if (c->kind == kind && c->device == device && strcmp(c->name, name) == 0)
            return &g->tracks[i];
    }
    return NULL;
}

static sl_maybe_u64 value_of(const gathering *g, uint32_t kind, int device, const char *name) {
    const track *t = find_track(g, kind, device, name);
    return t ? t->value : (sl_maybe_u64){0};
}

/* ---- a device ---- */

static void set(sl_maybe_f64 *values, sl_agent_series series, sl_maybe_u64 number) {
    if (number.known)
        values[series] = sl_known_f64((double)number.value);
}

static void set_peak(const gathering *g, sl_maybe_f64 *values, sl_agent_series series,
                     uint32_t kind, int device) {
    const track *t = find_track(g, kind, device, "");
    if (t && t->value.known)
        set(values, series, sl_known_u64(t->peak));
}

static bool add_libraries(gathering *g, int device) {
    for (size_t i = 0; i < g->track_cnt; i++) {
        const sl_agent_counter *c = &g->rank->counters.at[i];
        if (c->kind == SL_COUNTER_DRIVER_USED && c->device == device && c->name[0] &&
            g->tracks[i].value.known &&
            !sl_ledger_add_library(&g->rows, sl_str_of(c->name), g->tracks[i].value.value))
            return false;
    }
    return true;
}

static void take_rows(const sl_ledger_rows *rows, sl_maybe_f64 *values) {
    static const sl_agent_series series[SL_LEDGER_KIND_CNT] = {
        [SL_LEDGER_TENSORS] = SL_AGENT_TENSORS,   [SL_LEDGER_CACHE] = SL_AGENT_CACHE,
        [SL_LEDGER_LIBRARY] = SL_AGENT_LIBRARIES, [SL_LEDGER_CONTEXT] = SL_AGENT_CONTEXT,
        [SL_LEDGER_OTHERS] = SL_AGENT_OTHERS,     [SL_LEDGER_DRIVER] = SL_AGENT_DRIVER,
        [SL_LEDGER_REST] = SL_AGENT_REST};
    for (size_t i = 0; i < rows->cnt; i++) {
        sl_maybe_f64 *to = &values[series[rows->at[i].kind]];
        if (rows->at[i].bytes.known)
            *to = sl_known_f64(to->value + (double)rows->at[i].bytes.value);
    }
}

static bool fill_card(gathering *g, int device, sl_maybe_f64 *values) {
    sl_ledger_figures figures = {
        .card_used = value_of(g, SL_COUNTER_DEVICE_USED, device, ""),
        .card_total = value_of(g, SL_COUNTER_DEVICE_TOTAL, device, ""),
        .process = value_of(g, SL_COUNTER_PROCESS_USED, device, ""),
        .others = value_of(g, SL_COUNTER_CUSTOM, device, SL_SERIES_OTHER_PROCESSES),
        .driver = value_of(g, SL_COUNTER_CUSTOM, device, SL_SERIES_DRIVER_RESERVED),
        .allocated = value_of(g, SL_COUNTER_ALLOCATED, device, ""),
        .reserved = value_of(g, SL_COUNTER_RESERVED, device, ""),
        .libraries_known = true};
    g->rows.cnt = 0;
    if (!sl_ledger_make_rows(&g->rows, false) || !add_libraries(g, device))
        return false;
    sl_ledger_reconcile(&figures);
    sl_ledger_balance(&g->rows, &figures);
    take_rows(&g->rows, values);
    set(values, SL_AGENT_USED, figures.card_used);
    return true;
}

static bool fill_device(gathering *g, int device, sl_maybe_f64 *values) {
    set_peak(g, values, SL_AGENT_PEAK_TENSORS, SL_COUNTER_ALLOCATED, device);
    set_peak(g, values, SL_AGENT_PEAK_RESERVED, SL_COUNTER_RESERVED, device);
    set_peak(g, values, SL_AGENT_PEAK_USED, SL_COUNTER_DEVICE_USED, device);
    set(values, SL_AGENT_TOTAL, value_of(g, SL_COUNTER_DEVICE_TOTAL, device, ""));
    if (device >= 0)
        return fill_card(g, device, values);
    set(values, SL_AGENT_TENSORS, value_of(g, SL_COUNTER_ALLOCATED, device, ""));
    return true;
}

/* ---- the process ---- */

/* The number of the last step that began by then. */
static sl_status fill_step(gathering *g, uint64_t end_ns, sl_maybe_f64 *values, sl_error *err) {
    uint64_t cnt;
    sl_log_list_entry entry;
    SL_TRY(sl_log_count_until(g->rank->reader, SL_SECTION_MARKS, end_ns, &cnt, err));
    for (unsigned back = 0; cnt > 0 && back < MARKS_BACK; back++) {
        SL_TRY(sl_log_read_entry(g->rank->reader, SL_SECTION_MARKS, --cnt, &entry, err));
        if (entry.is_there && entry.kind == SL_EV_STEP) {
            values[SL_AGENT_STEP] = sl_known_f64((double)entry.number);
            break;
        }
    }
    return SL_OK;
}

static sl_status fill_count(gathering *g, uint32_t section, uint64_t end_ns, sl_maybe_f64 *to,
                            sl_error *err) {
    uint64_t cnt = 0;
    if (sl_log_list_used(g->rank->reader, section))
        SL_TRY(sl_log_count_until(g->rank->reader, section, end_ns, &cnt, err));
    *to = sl_known_f64((double)cnt);
    return SL_OK;
}

static sl_status fill_process(gathering *g, uint64_t end_ns, sl_maybe_f64 *values, sl_error *err) {
    set(values, SL_AGENT_RESIDENT, value_of(g, SL_COUNTER_HOST_RSS, SL_DEVICE_HOST, ""));
    SL_TRY(fill_step(g, end_ns, values, err));
    SL_TRY(fill_count(g, SL_SECTION_OOMS, end_ns, &values[SL_AGENT_FAILURES], err));
    return fill_count(g, SL_SECTION_ALERTS, end_ns, &values[SL_AGENT_ALERTS], err);
}

/* What is known only of now. */
static void fill_newest(const sl_agent_rank *rank, sl_agent_points *out) {
    static const double states[] = {[SL_LOG_LIVE] = 0,
                                    [SL_LOG_CLOSED] = 1,
                                    [SL_LOG_LEFT] = 2,
                                    [SL_LOG_KILLED] = 3,
                                    [SL_LOG_UNCLEAR] = 4};
    const sl_fmt_state *state = sl_log_state(rank->reader);
    double lost = 0;
    for (unsigned i = 0; i < SL_HEALTH_LIMIT; i++)
        lost += sl_health_is_loss((sl_health_kind)i) ? (double)state->health[i] : 0;
    for (size_t s = 0; s < out->subject_cnt; s++) {
        sl_maybe_f64 *values = sl_agent_point_values(out, out->cnt - 1, s);
        if (!rank->subjects.at[s].is_process) {
            values[SL_AGENT_OOM_SECONDS] = rank->subjects.at[s].oom_seconds;
            continue;
        }
        values[SL_AGENT_LOST] = sl_known_f64(lost);
        values[SL_AGENT_STATE] = sl_known_f64(states[sl_log_get_ending(rank->reader)]);
        values[SL_AGENT_INFO] = sl_known_f64(1);
    }
}

/* ---- together ---- */

static sl_status fill_point(gathering *g, size_t point, sl_error *err) {
    for (size_t i = 0; i < g->track_cnt; i++)
        advance(&g->tracks[i], g->ends_ns[point]);
    for (size_t s = 0; s < g->out->subject_cnt; s++) {
        const sl_agent_subject *subject = &g->rank->subjects.at[s];
        sl_maybe_f64 *values = sl_agent_point_values(g->out, point, s);
        if (subject->is_process)
            SL_TRY(fill_process(g, g->ends_ns[point], values, err));
        else if (!fill_device(g, subject->device, values))
            return no_memory(err);
    }
    return SL_OK;
}

static bool make_room(sl_agent_points *out) {
    size_t cnt = out->cnt * out->subject_cnt * SL_AGENT_SERIES_CNT;
    out->values.cnt = 0;
    if (!sl_vec_reserve(&out->values, cnt))
        return false;
    memset(out->values.at, 0, cnt * sizeof *out->values.at);
    out->values.cnt = cnt;
    return true;
}

static bool keep_held(const gathering *g, sl_agent_held *held, int64_t at_ms) {
    held->at_ms = at_ms;
    held->values.cnt = 0;
    for (size_t i = 0; i < g->track_cnt; i++)
        if (!sl_vec_push(&held->values, g->tracks[i].value))
            return false;
    return true;
}

static sl_status make_points(gathering *g, sl_agent_walk *walk, sl_error *err) {
    if (walk->ahead.at_ms == walk->at_ms) {
        sl_agent_held swapped = walk->held;
        walk->held = walk->ahead;
        walk->ahead = swapped;
    }
    bool is_held = walk->held.at_ms == walk->at_ms;
    g->out->subject_cnt = g->rank->subjects.cnt;
    if (!make_room(g->out))
        return no_memory(err);
    SL_TRY(load_tracks(g, is_held ? &walk->held : NULL, g->ends_ns[g->out->cnt - 1], err));
    for (size_t i = 0; i < g->out->cnt; i++)
        SL_TRY(fill_point(g, i, err));
    if (g->out->is_edge)
        fill_newest(g->rank, g->out);
    return keep_held(g, &walk->ahead, g->out->next_ms) ? SL_OK : no_memory(err);
}

static void finish(gathering *g) {
    for (size_t i = 0; g->tracks && i < g->track_cnt; i++)
        sl_vec_free(&g->tracks[i].bins);
    free(g->tracks);
    sl_vec_free(&g->rows);
}

static void begin(gathering *g, sl_agent_rank *rank, const sl_agent_walk *walk,
                  sl_agent_points *out) {
    *g = (gathering){.rank = rank, .out = out, .from_ns = to_ns(rank, walk->at_ms)};
    out->cnt = 0;
    out->is_edge = out->is_complete = false;
}

sl_status sl_agent_rank_next(sl_agent_rank *rank, sl_agent_walk *walk, int64_t interval_ms,
                             size_t max, sl_agent_points *out, sl_error *err) {
    gathering g;
    begin(&g, rank, walk, out);
    plan(&g, walk->at_ms, interval_ms, sl_min_size(max, SL_AGENT_POINTS_MAX));
    sl_status status = out->cnt ? make_points(&g, walk, err) : SL_OK;
    finish(&g);
    return status;
}

/* The bin that is being filled counts, and counts again next time. */
sl_status sl_agent_rank_now(sl_agent_rank *rank, sl_agent_walk *walk, sl_agent_points *out,
                            sl_error *err) {
    gathering g;
    uint64_t newest = sl_log_newest_ns(rank->reader);
    uint64_t length = sl_log_bin_ns(rank->reader, newest);
    begin(&g, rank, walk, out);
    add_point(&g, to_ms(rank, newest), newest + 2 * length);
    out->is_edge = true;
    sl_status status = make_points(&g, walk, err);
    walk->ahead.at_ms = out->next_ms = to_ms(rank, newest / length * length);
    finish(&g);
    return status;
}
