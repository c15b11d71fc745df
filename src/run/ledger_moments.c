/* SPDX-License-Identifier: MIT */
/* The ledger at every moment at which the card was read.
 *
 * A reading of the driver lies somewhere within its bin, while the allocator's and the libraries'
 * bytes are known event by event. The end of the bin is taken for its moment, unless the process
 * would then have less beside them than at the moment before, or less than nothing: in that case it
 * was read earlier, and the latest change of the libraries' bytes is looked for before which
 * everything fits. Contexts and modules do shrink, but rarely; where no moment of the bin fits, its
 * end is taken after all. */
#include <stdlib.h>

#include "base/core/order.h"
#include "model/counter_series.h"
#include "run/ledger.h"

/* Moments within this part of the fullest are as full. */
#define FULLEST_PART 64

typedef const sl_counter_series *series_ref;

typedef struct book {
    const sl_trace *trace;
    const sl_replay *replay;
    int device;
    sl_ledger *ledger;
    series_ref grid; /* whose readings make the moments */
    series_ref used, total, process, others, driver, allocated, reserved;
    SL_VEC(series_ref) libraries; /* owned; largest first */
    int64_t *at_us;               /* owned; where the exact figures of a moment are taken */
    bool *is_earlier;             /* owned; that is before the end of the bin */
    uint64_t *tagged;             /* owned; bytes by moment and tag, NULL = not needed */
    uint64_t context;             /* of the last moment that was settled, 0 = not known */
} book;

static uint64_t clamp_u64(uint64_t value, uint64_t low, uint64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* ---- what there is ---- */

static uint64_t highest(series_ref series) {
    uint64_t high = 0;
    for (size_t i = 0; i < series->readings.cnt; i++)
        high = sl_max_u64(high, series->readings.at[i].max);
    return high;
}

static int compare_highest(const void *a, const void *b) {
    uint64_t x = highest(*(const series_ref *)a), y = highest(*(const series_ref *)b);
    return (x < y) - (x > y);
}

static bool find_libraries(book *b) {
    for (size_t i = 0; i < b->trace->counters.cnt; i++) {
        series_ref series = &b->trace->counters.at[i];
        if (series->device == b->device && series->readings.cnt > 0 &&
            sl_series_library(b->trace, series).len > 0 && !sl_vec_push(&b->libraries, series))
            return false;
    }
    if (b->libraries.cnt > 1)
        qsort(b->libraries.at, b->libraries.cnt, sizeof *b->libraries.at, compare_highest);
    return true;
}

static bool has_readings(series_ref series) {
    return series && series->readings.cnt > 0;
}

static void find_series(book *b) {
    const struct {
        const char *name;
        series_ref *to;
    } rows[] = {{SL_SERIES_DEVICE_USED, &b->used},     {SL_SERIES_DEVICE_TOTAL, &b->total},
                {SL_SERIES_PROCESS_USED, &b->process}, {SL_SERIES_OTHER_PROCESSES, &b->others},
                {SL_SERIES_RESERVED, &b->reserved},    {SL_SERIES_DRIVER_RESERVED, &b->driver},
                {SL_SERIES_ALLOCATED, &b->allocated}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        *rows[i].to = sl_series_find(b->trace, b->device, rows[i].name);
    if (b->device == SL_DEVICE_HOST)
        return; /* the host has no ledger */
    /* Without the card's own figure there is still what the allocator said. */
    b->grid = has_readings(b->used)       ? b->used
              : has_readings(b->reserved) ? b->reserved
                                          : b->allocated;
}

/* ---- when ---- */

typedef struct library_sums {
    uint64_t shared, own;
} library_sums;

static library_sums sum_libraries(const book *b, int64_t time_us) {
    library_sums sums = {0};
    for (size_t i = 0; i < b->libraries.cnt; i++) {
        uint64_t bytes = sl_series_at(b->libraries.at[i], time_us).value;
        if (sl_library_serves_allocator(sl_series_library(b->trace, b->libraries.at[i])))
            sums.shared += bytes;
        else
            sums.own += bytes;
    }
    return sums;
}

/* What the allocator held at a moment within a bin: what its libraries had from the driver, within
 * the bounds that the bin knows. */
static sl_maybe_u64 reserved_at(const book *b, const sl_reading *bin, int64_t time_us) {
    uint64_t low, high;
    if (!sl_series_range(b->reserved, bin->from_us, bin->to_us, &low, &high))
        return (sl_maybe_u64){0};
    return sl_known_u64(clamp_u64(sum_libraries(b, time_us).shared, low, high));
}

/* What has a name at a moment. */
static uint64_t named_at(const book *b, sl_maybe_u64 reserved, int64_t time_us) {
    library_sums sums = sum_libraries(b, time_us);
    return sums.own + (reserved.known ? sl_max_u64(reserved.value, sums.shared) : sums.shared);
}

/* The latest change of a library's bytes at or before this time, and not before `from_us`. */
static bool find_change(const book *b, int64_t from_us, int64_t *time_us) {
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < b->libraries.cnt; i++) {
        size_t at = sl_series_find_reading(b->libraries.at[i], *time_us);
        if (at != SIZE_MAX && b->libraries.at[i]->readings.at[at].from_us > latest)
            latest = b->libraries.at[i]->readings.at[at].from_us;
    }
    *time_us = latest;
    return latest >= from_us;
}

static bool is_last(const book *b, size_t moment) {
    return moment + 1 == b->grid->readings.cnt;
}

static sl_maybe_u64 sampled(const book *b, series_ref series, size_t moment) {
    return is_last(b, moment) ? sl_series_last(series)
                              : sl_series_at(series, b->grid->readings.at[moment].to_us);
}

/* Moves a moment to before the latest change that leaves `context` bytes or more without a name. */
static bool move_earlier(book *b, size_t moment, uint64_t process, uint64_t context) {
    const sl_reading *bin = &b->grid->readings.at[moment];
    int64_t time_us = b->at_us[moment];
    while (find_change(b, bin->from_us, &time_us)) {
        time_us--;
        uint64_t named = named_at(b, reserved_at(b, bin, time_us), time_us);
        if (named + context > process)
            continue;
        b->at_us[moment] = time_us;
        b->is_earlier[moment] = true;
        b->context = process - named;
        return true;
    }
    return false;
}

/* The newest of everything counts for the last reading, as long as it fits at all. */
static void settle(book *b, size_t moment) {
    int64_t end_us = is_last(b, moment) ? INT64_MAX : b->grid->readings.at[moment].to_us;
    sl_maybe_u64 process = sampled(b, b->process, moment);
    b->at_us[moment] = end_us;
    if (!process.known)
        return;
    uint64_t named = named_at(b, sl_series_at(b->reserved, end_us), end_us);
    bool is_shrinking = named + b->context > process.value && !is_last(b, moment);
    if (is_shrinking && move_earlier(b, moment, process.value, b->context))
        return;
    if (named > process.value && move_earlier(b, moment, process.value, 0))
        return;
    b->context = process.value > named ? process.value - named : 0;
}

/* ---- tags ---- */

static int64_t event_number(const book *b, size_t moment) {
    uint32_t event = sl_replay_event_at(b->replay, b->at_us[moment]);
    return event == SL_EVENT_BEFORE ? -1 : (int64_t)event;
}

/* The first moment at or after an event. */
static size_t moment_of(const int64_t *events, size_t cnt, int64_t event) {
    size_t low = 0, high = cnt;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (events[mid] < event)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static sl_tag tag_of_base(const sl_device_trace *device, const sl_life *life) {
    for (size_t low = 0, high = device->blocks.cnt; low < high;) {
        size_t mid = (low + high) / 2;
        if (device->blocks.at[mid].addr == life->addr)
            return (sl_tag)device->blocks.at[mid].tag;
        if (device->blocks.at[mid].addr < life->addr)
            low = mid + 1;
        else
            high = mid;
    }
    return SL_TAG_UNKNOWN;
}

static sl_tag tag_of(const sl_replay *replay, const sl_life *life) {
    if (life->begin_event != SL_EVENT_BEFORE)
        return (sl_tag)replay->device->events.tag[life->begin_event];
    return life->end_event == SL_EVENT_NEVER ? tag_of_base(replay->device, life) : SL_TAG_UNKNOWN;
}

/* Differences from moment to moment first, then their sums; unsigned arithmetic wraps and comes
 * back. */
static bool sum_tags(book *b) {
    size_t cnt = b->ledger->moment_cnt;
    int64_t *events = calloc(cnt, sizeof *events);
    b->tagged = calloc(cnt * SL_TAG_LIMIT, sizeof *b->tagged);
    if (!events || !b->tagged) {
        free(events);
        return false;
    }
    for (size_t i = 0; i < cnt; i++)
        events[i] = event_number(b, i);
    for (size_t i = 0; i < b->replay->lives.cnt; i++) {
        const sl_life *life = &b->replay->lives.at[i];
        sl_tag tag = tag_of(b->replay, life);
        int64_t begin = life->begin_event == SL_EVENT_BEFORE ? -1 : (int64_t)life->begin_event;
        size_t from = moment_of(events, cnt, begin), to = cnt;
        if (life->drop_event != SL_EVENT_NEVER)
            to = moment_of(events, cnt, (int64_t)life->drop_event);
        if (tag >= SL_TAG_LIMIT || from >= to)
            continue;
        b->tagged[from * SL_TAG_LIMIT + tag] += life->requested_bytes;
        if (to < cnt)
            b->tagged[to * SL_TAG_LIMIT + tag] -= life->requested_bytes;
    }
    for (size_t i = SL_TAG_LIMIT; i < cnt * SL_TAG_LIMIT; i++)
        b->tagged[i] += b->tagged[i - SL_TAG_LIMIT];
    free(events);
    return true;
}

static uint64_t live_bytes(const book *b, size_t moment) {
    uint64_t sum = 0;
    for (size_t tag = 0; tag < SL_TAG_LIMIT; tag++)
        sum += b->tagged[moment * SL_TAG_LIMIT + tag];
    return sum;
}

/* ---- the rows of a moment ---- */

/* Before the end of a bin the events say more than its last value does. */
static sl_maybe_u64 allocated_at(const book *b, size_t moment, sl_maybe_u64 reserved) {
    const sl_reading *bin = &b->grid->readings.at[moment];
    uint64_t low, high;
    if (!b->is_earlier[moment])
        return sl_series_at(b->allocated, b->at_us[moment]);
    if (!sl_series_range(b->allocated, bin->from_us, bin->to_us, &low, &high))
        return (sl_maybe_u64){0};
    uint64_t bytes = clamp_u64(live_bytes(b, moment), low, high);
    return sl_known_u64(reserved.known ? sl_min_u64(bytes, reserved.value) : bytes);
}

static sl_ledger_figures figures_at(const book *b, size_t moment) {
    const sl_reading *bin = &b->grid->readings.at[moment];
    sl_ledger_figures f = {
        .card_used = sampled(b, b->used, moment),
        .card_total = sampled(b, b->total, moment),
        .process = sampled(b, b->process, moment),
        .others = sampled(b, b->others, moment),
        .driver = sampled(b, b->driver, moment),
        .reserved = b->is_earlier[moment] ? reserved_at(b, bin, b->at_us[moment])
                                          : sl_series_at(b->reserved, b->at_us[moment]),
        .libraries_known = true,
    };
    f.allocated = allocated_at(b, moment, f.reserved);
    for (size_t i = 0; i < b->libraries.cnt; i++)
        f.libraries_known &= sl_series_at(b->libraries.at[i], b->at_us[moment]).known;
    return f;
}

static void fill_moment(book *b, size_t moment, sl_ledger_rows *rows) {
    const sl_reading *bin = &b->grid->readings.at[moment];
    sl_ledger_figures figures = figures_at(b, moment);
    sl_ledger_reconcile(&figures);
    size_t library = 0;
    for (size_t i = 0; i < rows->cnt; i++) {
        sl_ledger_row *row = &rows->at[i];
        if (row->has_tag)
            row->bytes = sl_known_u64(b->tagged[moment * SL_TAG_LIMIT + row->tag]);
        else if (row->kind == SL_LEDGER_LIBRARY)
            row->bytes = sl_series_at(b->libraries.at[library++], b->at_us[moment]);
    }
    sl_ledger_balance(rows, &figures);
    b->ledger->moments[moment] = (sl_ledger_moment){
        .from_us = bin->from_us,
        .to_us = bin->to_us,
        .time_us = b->is_earlier[moment] ? b->at_us[moment] : bin->to_us,
        .card_used = figures.card_used,
        .card_total = figures.card_total,
        .used_min = bin->min,
        .used_max = sl_max_u64(bin->max, sl_u64_or_0(figures.card_used)),
    };
    for (size_t i = 0; i < rows->cnt; i++)
        b->ledger->bytes[moment * rows->cnt + i] = rows->at[i].bytes;
}

/* ---- all of it ---- */

/* A library or a tag that never held anything has no row. */
static bool is_kept(const sl_ledger *ledger, size_t row) {
    const sl_ledger_row *r = &ledger->rows.at[row];
    if (r->kind != SL_LEDGER_LIBRARY && !r->has_tag)
        return true;
    for (size_t i = 0; i < ledger->moment_cnt; i++) {
        sl_maybe_u64 bytes = sl_ledger_bytes(ledger, i)[row];
        if (bytes.known && bytes.value > 0)
            return true;
    }
    return false;
}

static bool drop_empty_rows(sl_ledger *ledger) {
    size_t cnt = ledger->rows.cnt, kept = 0;
    size_t *from = calloc(cnt, sizeof *from);
    if (!from)
        return false;
    for (size_t i = 0; i < cnt; i++)
        if (is_kept(ledger, i))
            from[kept++] = i;
    for (size_t m = 0; m < ledger->moment_cnt; m++)
        for (size_t i = 0; i < kept; i++)
            ledger->bytes[m * kept + i] = ledger->bytes[m * cnt + from[i]];
    for (size_t i = 0; i < kept; i++)
        ledger->rows.at[i] = ledger->rows.at[from[i]];
    ledger->rows.cnt = kept;
    free(from);
    return true;
}

static bool add_rows(book *b) {
    bool ok = sl_ledger_make_rows(&b->ledger->rows, b->trace->has_tags);
    for (size_t i = 0; ok && i < b->libraries.cnt; i++)
        ok = sl_ledger_add_library(&b->ledger->rows,
                                   sl_series_library(b->trace, b->libraries.at[i]), 0);
    return ok;
}

/* Readings up to the end of the work, and at least one: what the process gives back after it says nothing,
 * and the replay does not know of it (P5 in run/blocks/replay.h). */
static size_t count_moments(const book *b) {
    size_t cnt = has_readings(b->grid) ? b->grid->readings.cnt : 0;
    if (b->replay->event_cnt == b->replay->device->events.cnt)
        return cnt;
    int64_t end_us = sl_replay_time(b->replay, sl_replay_end(b->replay));
    while (cnt > 1 && b->grid->readings.at[cnt - 1].from_us > end_us)
        cnt--;
    return cnt;
}

static bool build(book *b) {
    find_series(b);
    size_t cnt = count_moments(b);
    if (!find_libraries(b) || !add_rows(b))
        return false;
    if (cnt == 0)
        return true;
    sl_ledger *ledger = b->ledger;
    ledger->moments = calloc(cnt, sizeof *ledger->moments);
    ledger->bytes = calloc(cnt * ledger->rows.cnt, sizeof *ledger->bytes);
    b->at_us = calloc(cnt, sizeof *b->at_us);
    b->is_earlier = calloc(cnt, sizeof *b->is_earlier);
    if (!ledger->moments || !ledger->bytes || !b->at_us || !b->is_earlier)
        return false;
    ledger->moment_cnt = cnt;
    bool needs_tags = b->trace->has_tags;
    for (size_t i = 0; i < cnt; i++) {
        settle(b, i);
        needs_tags |= b->is_earlier[i];
    }
    if (needs_tags && !sum_tags(b))
        return false;
    for (size_t i = 0; i < cnt; i++)
        fill_moment(b, i, &ledger->rows);
    return drop_empty_rows(ledger);
}

sl_status sl_ledger_new(const sl_trace *trace, const sl_replay *replay, sl_ledger **out,
                        sl_error *err) {
    book b = {.trace = trace, .replay = replay, .device = replay->device->device};
    b.ledger = calloc(1, sizeof *b.ledger);
    bool ok = b.ledger != NULL;
    if (ok) {
        b.ledger->device = b.device;
        ok = build(&b);
    }
    sl_vec_free(&b.libraries);
    free(b.at_us);
    free(b.is_earlier);
    free(b.tagged);
    if (!ok) {
        sl_ledger_free(b.ledger);
        return sl_fail_no_memory(err, "the ledger of '%s'", trace->path);
    }
    *out = b.ledger;
    return SL_OK;
}

void sl_ledger_free(sl_ledger *ledger) {
    if (!ledger)
        return;
    sl_vec_free(&ledger->rows);
    free(ledger->moments);
    free(ledger->bytes);
    free(ledger);
}

size_t sl_ledger_at(const sl_ledger *ledger, int64_t time_us) {
    size_t low = 0, high = ledger->moment_cnt;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ledger->moments[mid].from_us <= time_us)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? low - 1 : 0;
}

uint64_t sl_ledger_most_used(const sl_ledger *ledger) {
    uint64_t most = 0;
    for (size_t i = 0; i < ledger->moment_cnt; i++)
        most = sl_max_u64(most, ledger->moments[i].used_max);
    return most;
}

static uint64_t tensors_at(const sl_ledger *ledger, size_t moment) {
    uint64_t sum = 0;
    for (size_t i = 0; i < ledger->rows.cnt && ledger->rows.at[i].kind == SL_LEDGER_TENSORS; i++)
        sum += sl_u64_or_0(sl_ledger_bytes(ledger, moment)[i]);
    return sum;
}

static bool is_fuller(const sl_ledger *ledger, size_t a, size_t b) {
    uint64_t tensors_a = tensors_at(ledger, a), tensors_b = tensors_at(ledger, b);
    if (tensors_a != tensors_b)
        return tensors_a > tensors_b;
    return ledger->moments[a].used_max > ledger->moments[b].used_max;
}

/* A failed request's exception lets go of tensors, and the allocator keeps their memory: the card is as
 * full after it as before, give or take a module. What filled it shows while the tensors are there. */
size_t sl_ledger_fullest(const sl_ledger *ledger) {
    uint64_t most = sl_ledger_most_used(ledger), least = most - most / FULLEST_PART;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < ledger->moment_cnt; i++)
        if (ledger->moments[i].used_max >= least &&
            (best == SIZE_MAX || is_fuller(ledger, i, best)))
            best = i;
    return best;
}

bool sl_ledger_keep(const sl_ledger *ledger, size_t moment, sl_arena *arena, sl_ledger_state *out) {
    sl_ledger_row *rows = sl_arena_alloc(arena, ledger->rows.cnt * sizeof *rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < ledger->rows.cnt; i++) {
        rows[i] = ledger->rows.at[i];
        rows[i].bytes = sl_ledger_bytes(ledger, moment)[i];
    }
    const sl_ledger_moment *at = &ledger->moments[moment];
    *out = (sl_ledger_state){at->time_us, at->card_used, at->card_total, rows, ledger->rows.cnt};
    return true;
}
