/* SPDX-License-Identifier: MIT */
#include "api/live/live_forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/live_line.h"
#include "base/core/order.h"
#include "model/counter_series.h"
#include "model/torch/conf_text.h"
#include "read/slog/slog_facts.h"
#include "run/blocks/rounding.h"

typedef SL_VEC(sl_forecast_point) points;
typedef SL_VEC(double) times;

/* Blocks made in the last part of the window, in shares of it, may be of a step that is not over. */
#define YOUNG_SHARE     0.08
/* Survivors must explain this share of the growth; else a buffer is replaced by larger ones, and the newest counts. */
#define EXPLAINED_SHARE 0.5

typedef struct reading {
    sl_log_reader *reader;
    const sl_log_counters *counters;
    int device;
    uint64_t now_ns;
    times steps; /* seconds, ascending */
    points parts[SL_FORECAST_PART_CNT];
} reading;

static bool is_named(const sl_log_reader *reader, const sl_log_counter_info *info,
                     const char *name) {
    return info->name ? sl_str_is(sl_log_get_string(reader, info->name), name)
                      : strcmp(sl_counter_name(info->kind), name) == 0;
}

static const sl_log_counter_info *find_counter(const sl_log_reader *reader,
                                               const sl_log_counters *counters, int device,
                                               const char *name) {
    for (size_t i = 0; i < counters->cnt; i++)
        if (counters->at[i].device == device && is_named(reader, &counters->at[i], name))
            return &counters->at[i];
    return NULL;
}

sl_maybe_u64 sl_live_counter(const sl_log_reader *reader, const sl_log_counters *counters,
                             int device, const char *name) {
    const sl_log_counter_info *info = find_counter(reader, counters, device, name);
    return info ? (sl_maybe_u64){info->last, info->is_available} : (sl_maybe_u64){0};
}

/* ---- the limit ---- */

/* The newest text that names the share; a later one that does not leaves it as it is. */
static double find_fraction(const sl_log_reader *reader, const sl_log_marks *marks) {
    double fraction = 0;
    sl_conf_item item;
    for (size_t i = 0; i < marks->cnt; i++) {
        sl_str text = sl_log_get_string(reader, marks->at[i].name);
        if (marks->at[i].kind != SL_EV_SETTINGS ||
            !sl_conf_find(text, SL_STR("per_process_memory_fraction"), &item) ||
            item.whole.len <= item.key.len + 1)
            continue;
        char value[32] = "";
        size_t len = sl_min_size(item.whole.len - item.key.len - 1, sizeof value - 1);
        memcpy(value, item.whole.ptr + item.key.len + 1, len);
        fraction = atof(value);
    }
    return fraction > 0 && fraction < 1 ? fraction : 0;
}

/* A request that failed although the card had room for it met a limit of the process. */
static sl_maybe_u64 learn_limit(sl_log_reader *reader, int device) {
    sl_log_ooms ooms = {0};
    sl_maybe_u64 limit = {0};
    if (sl_log_load_ooms(reader, &ooms, NULL) < 0)
        return limit;
    for (size_t i = 0; i < ooms.cnt; i++) {
        const sl_fmt_oom *oom = &ooms.at[i];
        if ((int32_t)(uint32_t)oom->device_word != device || oom->device_free == UINT64_MAX ||
            oom->reserved == UINT64_MAX || oom->device_free < sl_round_segment(oom->requested))
            continue;
        limit = sl_known_u64(sl_max_u64(limit.value, oom->reserved));
    }
    sl_vec_free(&ooms);
    return limit;
}

static sl_maybe_u64 limit_of(sl_log_reader *reader, const sl_log_counters *counters, int device,
                             const sl_log_marks *marks) {
    sl_maybe_u64 total = sl_live_counter(reader, counters, device, SL_SERIES_DEVICE_TOTAL);
    double fraction = find_fraction(reader, marks);
    if (device == SL_DEVICE_HOST)
        return (sl_maybe_u64){0};
    if (fraction > 0 && total.known)
        return sl_known_u64((uint64_t)(fraction * (double)total.value));
    return learn_limit(reader, device);
}

sl_maybe_u64 sl_live_process_limit(sl_log_reader *reader, const sl_log_counters *counters,
                                   int device) {
    sl_log_marks marks = {0};
    sl_maybe_u64 limit = {0};
    if (sl_log_load_marks(reader, &marks, NULL) >= 0)
        limit = limit_of(reader, counters, device, &marks);
    sl_vec_free(&marks);
    return limit;
}

/* ---- points ---- */

static sl_status load_curve(const reading *r, const char *name, sl_log_bins *bins, sl_error *err) {
    const sl_log_counter_info *info = find_counter(r->reader, r->counters, r->device, name);
    return info ? sl_log_load_curve(r->reader, info->idx, bins, err) : SL_OK;
}

static bool add_point(reading *r, sl_forecast_part part, uint64_t end_ns, double low, double high) {
    sl_forecast_point point = {(double)sl_min_u64(end_ns, r->now_ns) / 1e9, NAN, low, high};
    return sl_vec_push(&r->parts[part], point);
}

/* The value before a bin still holds at its beginning, and where there are no readings. */
static bool add_bins(reading *r, sl_forecast_part part, const sl_log_bins *bins) {
    bool has_room = true;
    for (size_t i = 0; has_room && i < bins->cnt; i++) {
        const sl_log_bin *bin = &bins->at[i], *before = i ? bin - 1 : bin;
        double held = (double)(i ? before->last : bin->min);
        if (i && bin->start_ns > before->start_ns + 2 * before->length_ns)
            has_room = add_point(r, part, bin->start_ns, held, held);
        has_room =
            has_room && add_point(r, part, bin->start_ns + bin->length_ns,
                                  fmin(held, (double)bin->min), fmax(held, (double)bin->max));
    }
    if (has_room && bins->cnt) {
        const sl_log_bin *last = &bins->at[bins->cnt - 1];
        if (r->now_ns > last->start_ns + 2 * last->length_ns)
            has_room = add_point(r, part, r->now_ns, (double)last->last, (double)last->last);
    }
    return has_room;
}

/* What this process holds beyond what `inside` says, at each reading of `whole`. */
static bool add_difference(reading *r, const sl_log_bins *whole, const sl_log_bins *inside) {
    size_t k = 0;
    for (size_t i = 0; i < whole->cnt; i++) {
        const sl_log_bin *bin = &whole->at[i];
        while (k + 1 < inside->cnt && inside->at[k + 1].start_ns <= bin->start_ns)
            k++;
        double rest = (double)bin->last - (inside->cnt ? (double)inside->at[k].last : 0);
        if (!add_point(r, SL_FORECAST_LIBRARIES, bin->start_ns + bin->length_ns, fmax(0, rest),
                       fmax(0, rest)))
            return false;
    }
    return true;
}

static sl_status load_libraries(reading *r, sl_error *err) {
    bool is_host = r->device == SL_DEVICE_HOST;
    sl_log_bins whole = {0}, inside = {0};
    sl_status status = load_curve(
        r, is_host ? sl_counter_name(SL_COUNTER_HOST_RSS) : SL_SERIES_PROCESS_USED, &whole, err);
    if (status >= 0)
        status = load_curve(r, is_host ? SL_SERIES_ALLOCATED : SL_SERIES_RESERVED, &inside, err);
    if (status >= 0 && !add_difference(r, &whole, &inside))
        status = sl_fail_no_memory(err, "a curve");
    sl_vec_free(&whole);
    sl_vec_free(&inside);
    return status;
}

static sl_status load_part(reading *r, sl_forecast_part part, const char *name, sl_error *err) {
    sl_log_bins bins = {0};
    sl_status status = load_curve(r, name, &bins, err);
    if (status >= 0 && !add_bins(r, part, &bins))
        status = sl_fail_no_memory(err, "a curve");
    sl_vec_free(&bins);
    return status;
}

static bool take_steps(reading *r, const sl_log_marks *marks) {
    for (size_t i = 0; i < marks->cnt; i++)
        if (marks->at[i].kind == SL_EV_STEP &&
            !sl_vec_push(&r->steps, (double)marks->at[i].time_ns / 1e9))
            return false;
    return true;
}

/* A step that goes on counts by its share of the usual one, at most as a whole. */
static void number_steps(reading *r, points *list) {
    size_t k = 0;
    for (size_t i = 0; i < list->cnt; i++) {
        double t = list->at[i].time_s;
        while (k < r->steps.cnt && r->steps.at[k] <= t)
            k++;
        if (k == 0)
            continue;
        double from = r->steps.at[k - 1];
        double length = k < r->steps.cnt ? r->steps.at[k] - from
                        : k > 1          ? from - r->steps.at[k - 2]
                                         : 0;
        list->at[i].step = (double)k + (length > 0 ? fmin(1, (t - from) / length) : 0);
    }
}

/* ---- the line ---- */

typedef struct line_growth {
    uint32_t file, line;
    uint64_t bytes;
} line_growth;

typedef SL_VEC(line_growth) line_growths;

static int compare_lines(const void *a, const void *b) {
    const line_growth *l = a, *r = b;
    if (l->file != r->file)
        return l->file < r->file ? -1 : 1;
    return (l->line > r->line) - (l->line < r->line);
}

/* Bytes of the device's live blocks of each site that were made between the two times. */
static uint64_t sum_sites(uint64_t *bytes, const sl_log_tables *tables, int device,
                          uint64_t from_ns, uint64_t to_ns) {
    uint64_t all = 0, last = tables->sites.cnt ? tables->sites.at[tables->sites.cnt - 1].id : 0;
    for (size_t i = 0; i < tables->blocks.cnt; i++) {
        const sl_log_block *block = &tables->blocks.at[i];
        if (block->device != device || block->domain != SL_DOMAIN_BLOCK || block->site > last ||
            block->time_ns < from_ns || block->time_ns > to_ns)
            continue;
        bytes[block->site] += block->size;
        all += block->size;
    }
    return all;
}

static bool list_lines(const reading *r, const sl_log_tables *tables, const uint64_t *bytes,
                       line_growths *lines) {
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        sl_fmt_frame frame = {0};
        if (!bytes[site->id])
            continue;
        sl_live_line_find(r->reader, site->stack, &frame);
        line_growth row = {frame.file, frame.line, bytes[site->id]};
        if (!sl_vec_push(lines, row))
            return false;
    }
    if (lines->cnt)
        qsort(lines->at, lines->cnt, sizeof *lines->at, compare_lines);
    return true;
}

/* Adds up what is of one line; the one with the most. */
static line_growth largest_line(const line_growths *lines) {
    line_growth best = {0}, now = {0};
    for (size_t i = 0; i < lines->cnt; i++) {
        if (i && compare_lines(&lines->at[i], &now) == 0)
            now.bytes += lines->at[i].bytes;
        else
            now = lines->at[i];
        if (now.bytes > best.bytes)
            best = now;
    }
    return best;
}

static bool find_line(const reading *r, const sl_log_tables *tables, sl_live_forecast *out) {
    const sl_forecast *f = &out->forecast;
    uint64_t last = tables->sites.cnt ? tables->sites.at[tables->sites.cnt - 1].id : 0;
    uint64_t window_ns = sl_min_u64((uint64_t)(f->window_s * 1e9), r->now_ns);
    uint64_t from_ns = r->now_ns - window_ns;
    uint64_t to_ns = r->now_ns - (uint64_t)(YOUNG_SHARE * (double)window_ns);
    line_growths lines = {0};
    uint64_t *bytes = calloc(last + 1, sizeof *bytes);
    bool has_room = bytes != NULL;
    if (bytes && (double)sum_sites(bytes, tables, r->device, from_ns, to_ns) <
                     EXPLAINED_SHARE * f->bytes_per_s * f->window_s) {
        memset(bytes, 0, (last + 1) * sizeof *bytes);
        sum_sites(bytes, tables, r->device, from_ns, UINT64_MAX);
    }
    has_room = has_room && list_lines(r, tables, bytes, &lines);
    line_growth best = largest_line(&lines);
    sl_fmt_frame frame = {.file = best.file, .line = best.line};
    sl_live_line_name(r->reader, &frame, out->line, sizeof out->line);
    out->line_bytes = (sl_maybe_u64){best.bytes, best.bytes > 0};
    sl_vec_free(&lines);
    free(bytes);
    return has_room;
}

/* ---- all of it ---- */

sl_maybe_u64 sl_live_device_free(const sl_log_reader *reader, const sl_log_counters *counters,
                                 int device) {
    const char *available = sl_counter_name(SL_COUNTER_HOST_AVAILABLE);
    if (device == SL_DEVICE_HOST)
        return sl_live_counter(reader, counters, device, available);
    sl_maybe_u64 total = sl_live_counter(reader, counters, device, SL_SERIES_DEVICE_TOTAL);
    sl_maybe_u64 used = sl_live_counter(reader, counters, device, SL_SERIES_DEVICE_USED);
    if (!total.known || !used.known)
        return (sl_maybe_u64){0};
    return sl_known_u64(total.value > used.value ? total.value - used.value : 0);
}

static sl_maybe_f64 freed_share(const sl_log_tables *tables, int device) {
    double made = 0, freed = 0;
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        if (site->device != device || site->domain != SL_DOMAIN_BLOCK)
            continue;
        made += (double)site->alloc_bytes;
        freed += (double)site->free_bytes;
    }
    return made > 0 ? sl_known_f64(freed / made) : (sl_maybe_f64){0};
}

static sl_status load_points(reading *r, sl_error *err) {
    SL_TRY(load_part(r, SL_FORECAST_TENSORS, SL_SERIES_ALLOCATED, err));
    SL_TRY(load_libraries(r, err));
    if (r->device != SL_DEVICE_HOST)
        SL_TRY(load_part(r, SL_FORECAST_OTHERS, SL_SERIES_OTHER_PROCESSES, err));
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
        number_steps(r, &r->parts[i]);
    return SL_OK;
}

/* Asks again with the tables, which are read only when there is something to say. */
static sl_status add_tables(reading *r, const sl_log_tables *tables, sl_forecast_input *input,
                            sl_live_forecast *out, sl_error *err) {
    sl_log_tables own = {0};
    if (!tables) {
        sl_status status = sl_log_load_tables(r->reader, &own, err);
        if (status >= 0)
            status = sl_log_load_names(r->reader, err);
        if (status < 0) {
            sl_log_tables_fini(&own);
            return status;
        }
        tables = &own;
    }
    input->freed_share = freed_share(tables, r->device);
    out->forecast = sl_forecast_make(input);
    bool has_line = out->forecast.is_expected && out->forecast.part == SL_FORECAST_TENSORS;
    bool has_room = !has_line || find_line(r, tables, out);
    sl_log_tables_fini(&own);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the lines");
}

static sl_status forecast(reading *r, const sl_log_tables *tables, sl_live_forecast *out,
                          sl_error *err) {
    SL_TRY(load_points(r, err));
    sl_forecast_input input = {
        .now_s = (double)r->now_ns / 1e9,
        .is_host = r->device == SL_DEVICE_HOST,
        .device_free = sl_live_device_free(r->reader, r->counters, r->device),
        .reserved = sl_live_counter(r->reader, r->counters, r->device, SL_SERIES_RESERVED),
        .process_limit = out->process_limit};
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
        input.parts[i] = (sl_forecast_points){r->parts[i].at, r->parts[i].cnt};
    out->forecast = sl_forecast_make(&input);
    return out->forecast.is_expected ? add_tables(r, tables, &input, out, err) : SL_OK;
}

sl_status sl_live_forecast_read(sl_log_reader *reader, const sl_log_counters *counters,
                                const sl_log_tables *tables, int device, sl_live_forecast *out,
                                sl_error *err) {
    const sl_fmt_state *state = sl_log_state(reader);
    reading r = {.reader = reader,
                 .counters = counters,
                 .device = device,
                 .now_ns = state->closed_ns ? state->closed_ns : state->heartbeat_ns};
    sl_log_marks marks = {0};
    *out = (sl_live_forecast){.device = device};
    sl_status status = sl_log_load_marks(reader, &marks, err);
    if (status >= 0 && !take_steps(&r, &marks))
        status = sl_fail_no_memory(err, "the steps");
    if (status >= 0) {
        out->process_limit = limit_of(reader, counters, device, &marks);
        status = forecast(&r, tables, out, err);
    }
    sl_vec_free(&marks);
    sl_vec_free(&r.steps);
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
        sl_vec_free(&r.parts[i]);
    return status < 0 ? status : SL_OK;
}
