/* SPDX-License-Identifier: MIT */
/* Prometheus' text exposition format: the figures of `analyze --format json` as metrics, one
 * family after the other, without timestamps (a scraper or push gateway sets its own). An unknown
 * figure has no sample; it is never written as 0. The site series add up to the totals. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "export/formats/exporter.h"
#include "export/report/report_words.h"
#include "run/ledger.h"
#include "run/lines/site_bands.h"

#define SITE_SERIES 20u

/* name, type, help, value of a replay. Rows of figures that may be unknown say when they
 * are known. */
#define REPLAY_FAMILIES(X)                                                                        \
    X("live_requested_bytes", "gauge", "Bytes in live blocks at the end, as requested.",          \
      replay->end.requested_bytes, true)                                                          \
    X("peak_requested_bytes", "gauge", "Highest live bytes, as requested.",                       \
      replay->peak_requested.bytes, replay->has_history)                                          \
    X("allocated_bytes", "gauge", "Bytes in blocks in use at the end, rounded by the allocator.", \
      replay->end.allocated_bytes, true)                                                          \
    X("peak_allocated_bytes", "gauge", "Highest bytes in blocks in use.",                         \
      replay->peak_allocated.bytes, replay->has_history)                                          \
    X("reserved_bytes", "gauge",                                                                  \
      "Bytes that the allocator has reserved on the device at the end.",                          \
      replay->end.reserved_bytes, replay->reserved_known)                                         \
    X("peak_reserved_bytes", "gauge", "Highest bytes that the allocator had reserved.",           \
      replay->peak_reserved.bytes, replay->reserved_known && replay->has_history)                 \
    X("capacity_bytes", "gauge", "Memory of the device, or the limit set for the process.",       \
      replay->device->capacity_bytes.value, replay->device->capacity_bytes.known)                 \
    X("allocations_total", "counter", "Allocations in the recording.", replay->allocs,            \
      replay->has_history)                                                                        \
    X("frees_total", "counter", "Completed frees in the recording.", replay->frees,               \
      replay->has_history)                                                                        \
    X("out_of_memory_total", "counter", "Requests that failed.", count_oom(replay->device), true)

typedef SL_VEC(const sl_replay *) replay_list;

static uint64_t count_oom(const sl_device_trace *device) {
    uint64_t cnt = 0;
    for (size_t i = 0; i < device->events.cnt; i++)
        cnt += device->events.kind[i] == SL_EV_OOM;
    return cnt;
}

static sl_maybe_u64 value_of(const sl_replay *replay, size_t row) {
    const sl_maybe_u64 values[] = {
#define FAMILY_VALUE(name, type, help, value, is_known) {(value), (is_known)},
        REPLAY_FAMILIES(FAMILY_VALUE)
#undef FAMILY_VALUE
    };
    return values[row];
}

static const struct {
    const char *name, *type, *help;
} families[] = {
#define FAMILY_ROW(name, type, help, value, is_known) {name, type, help},
    REPLAY_FAMILIES(FAMILY_ROW)
#undef FAMILY_ROW
};

static void put_head(FILE *to, const char *name, const char *type, const char *help) {
    fprintf(to, "# HELP stormlog_%s %s\n# TYPE stormlog_%s %s\n", name, help, name, type);
}

/* Backslash, quote and line end are escaped; what is not safe to show becomes U+FFFD. */
static void put_label(FILE *to, const char *name, const char *value, size_t len) {
    fprintf(to, "%s=\"", name);
    for (size_t i = 0; i < len;) {
        sl_utf8_char next = sl_utf8_next(value + i, len - i);
        if (value[i] == '\n')
            fputs("\\n", to);
        else if (!next.is_safe)
            fputs("\xEF\xBF\xBD", to);
        else
            fprintf(to, "%s%.*s", value[i] == '\\' || value[i] == '"' ? "\\" : "", (int)next.len,
                    value + i);
        i += next.len;
    }
    putc('"', to);
}

static void put_device_label(FILE *to, int device) {
    if (device == SL_DEVICE_HOST)
        fputs("device=\"host\"", to);
    else
        fprintf(to, "device=\"%d\"", device);
}

static void put_families(FILE *to, const replay_list *replays) {
    for (size_t row = 0; row < SL_COUNT_OF(families); row++) {
        bool has_head = false;
        for (size_t i = 0; i < replays->cnt; i++) {
            sl_maybe_u64 value = value_of(replays->at[i], row);
            if (!value.known)
                continue;
            if (!has_head)
                put_head(to, families[row].name, families[row].type, families[row].help);
            has_head = true;
            fprintf(to, "stormlog_%s{", families[row].name);
            put_device_label(to, replays->at[i]->device->device);
            fprintf(to, "} %" PRIu64 "\n", value.value);
        }
    }
}

static void put_site(FILE *to, const char *family, const sl_site_bands *bands, size_t band,
                     uint64_t value) {
    sl_frame frame;
    bool is_named = band < bands->cnt;
    fprintf(to, "stormlog_%s{", family);
    put_device_label(to, bands->replay->device->device);
    putc(',', to);
    if (is_named && sl_site_frame(bands->sites[band], &frame)) {
        sl_str file = sl_strtab_get(&bands->grouped->trace->strings, frame.file);
        sl_str function = sl_strtab_get(&bands->grouped->trace->strings, frame.function);
        put_label(to, "file", file.ptr, file.len);
        fputs(",line=\"", to);
        if (frame.line) /* native code has none */
            fprintf(to, "%" PRIu32, frame.line);
        fputs("\",", to);
        put_label(to, "function", function.ptr, function.len);
    } else {
        const char *label = is_named ? sl_site_label(bands->sites[band]) : "(all other sites)";
        put_label(to, "file", label, strlen(label));
        fputs(",line=\"\",function=\"\"", to);
    }
    fprintf(to, "} %" PRIu64 "\n", value);
}

/* Live bytes by site after an event, from the walk that the curves use. */
static void put_sites_at(FILE *to, const char *family, const sl_site_bands *bands, uint32_t event) {
    sl_band_walk walk;
    sl_band_walk_init(&walk, bands);
    while (event != SL_EVENT_BEFORE && walk.totals.next <= event && sl_band_walk_next(&walk))
        ;
    for (size_t band = 0; band <= bands->cnt; band++)
        put_site(to, family, bands, band, walk.live[band]);
}

static sl_status put_site_families(FILE *to, const replay_list *replays, const sl_sites *lines,
                                   sl_error *err) {
    static const struct {
        const char *name, *help;
        bool is_peak;
    } rows[] = {
        {"site_live_bytes", "Live bytes at the end by line of code, the largest at the peak.",
         false},
        {"site_peak_bytes", "Live bytes at the peak of the device by line of code.", true},
    };
    for (size_t row = 0; row < SL_COUNT_OF(rows); row++) {
        if (replays->cnt)
            put_head(to, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; i < replays->cnt; i++) {
            const sl_replay *replay = replays->at[i];
            sl_site_bands bands;
            bool is_done = sl_site_bands_init(&bands, lines, replay, SL_BANDS_BY_PEAK, SITE_SERIES);
            if (is_done)
                put_sites_at(to, rows[row].name, &bands,
                             rows[row].is_peak ? replay->peak_requested.event
                                               : sl_replay_end(replay));
            sl_site_bands_fini(&bands);
            if (!is_done)
                return sl_fail_no_memory(err, "the sites");
        }
    }
    return SL_OK;
}

static sl_status load_replays(replay_list *replays, const sl_run_input *input,
                              const sl_export_options *options, sl_error *err) {
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_replay *replay;
        if (!sl_export_wants_device(options, input->devices[i].events->device))
            continue;
        SL_TRY(sl_run_replay(&input->devices[i], &replay, err));
        if (!sl_vec_push(replays, replay))
            return sl_fail_no_memory(err, "the devices");
    }
    return SL_OK;
}

/* ---- the card ---- */

typedef SL_VEC(const sl_ledger *) ledger_list;

static void put_card(FILE *to, const ledger_list *ledgers) {
    put_head(to, "card_used_bytes", "gauge",
             "Bytes in use on the card at the end, by all processes.");
    for (size_t i = 0; i < ledgers->cnt; i++) {
        const sl_ledger *ledger = ledgers->at[i];
        sl_maybe_u64 used = ledger->moments[ledger->moment_cnt - 1].card_used;
        if (!used.known)
            continue;
        fputs("stormlog_card_used_bytes{", to);
        put_device_label(to, ledger->device);
        fprintf(to, "} %" PRIu64 "\n", used.value);
    }
    put_head(to, "ledger_bytes", "gauge",
             "What holds the bytes in use on the card at the end; the rows add up to the total.");
    for (size_t i = 0; i < ledgers->cnt; i++)
        for (size_t row = 0; row < ledgers->at[i]->rows.cnt; row++) {
            const sl_ledger *ledger = ledgers->at[i];
            sl_maybe_u64 bytes = sl_ledger_bytes(ledger, ledger->moment_cnt - 1)[row];
            char label[SL_LEDGER_LABEL_CAP];
            if (!bytes.known)
                continue;
            fputs("stormlog_ledger_bytes{", to);
            put_device_label(to, ledger->device);
            fprintf(to, ",kind=\"%s\",", sl_ledger_kind_name(ledger->rows.at[row].kind));
            sl_ledger_label(label, &ledger->rows.at[row]);
            put_label(to, "name", label, strlen(label));
            fprintf(to, "} %" PRIu64 "\n", bytes.value);
        }
}

static sl_status load_ledgers(ledger_list *ledgers, const sl_run_input *input,
                              const sl_export_options *options, sl_error *err) {
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_ledger *ledger;
        if (!sl_export_wants_device(options, input->devices[i].events->device))
            continue;
        SL_TRY(sl_run_ledger(&input->devices[i], &ledger, err));
        if (ledger->moment_cnt > 0 && !sl_vec_push(ledgers, ledger))
            return sl_fail_no_memory(err, "the ledgers");
    }
    return SL_OK;
}

/* For recordings; other inputs have no alerts. */
static void put_alerts(FILE *to, const sl_trace *trace) {
    if (trace->source != SL_SOURCE_SLOG)
        return;
    put_head(to, "alerts_total", "counter", "Thresholds that were crossed.");
    fprintf(to, "stormlog_alerts_total %zu\n", trace->alerts.cnt);
}

static sl_status put_all(FILE *to, const sl_run_input *input, const sl_export_options *options,
                         replay_list *replays, ledger_list *ledgers, sl_error *err) {
    const sl_sites *lines;
    SL_TRY(load_replays(replays, input, options, err));
    SL_TRY(load_ledgers(ledgers, input, options, err));
    SL_TRY(sl_run_lines(input, &lines, err));
    put_families(to, replays);
    put_alerts(to, input->trace);
    if (ledgers->cnt > 0)
        put_card(to, ledgers);
    return put_site_families(to, replays, lines, err);
}

sl_status sl_export_prometheus(const sl_run_input *input, const sl_export_options *options,
                               FILE *to, sl_error *err) {
    replay_list replays = {0};
    ledger_list ledgers = {0};
    SL_TRY(sl_export_check_events(input, "this format", err));
    sl_status status = put_all(to, input, options, &replays, &ledgers, err);
    sl_vec_free(&replays);
    sl_vec_free(&ledgers);
    return status < 0 ? status : sl_export_finish(to, err);
}
