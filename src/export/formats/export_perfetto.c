/* SPDX-License-Identifier: MIT */
/* Perfetto's trace: a stream of TracePackets with counters that change at every event (live,
 * allocated, reserved, the largest sites), the card's ledger as it was read, slices for steps and
 * marks, and instants for the peak, alerts and failed requests. Opens in ui.perfetto.dev. No event
 * is dropped.
 *
 * A device is a process of the trace. Times are nanoseconds of the input's own clock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "export/formats/exporter.h"
#include "export/formats/pb_out.h"
#include "export/report/ledger_out.h"
#include "run/lines/site_bands.h"

#define SITE_TRACKS 12u
#define SEQUENCE_ID 1u

/* Field numbers of perfetto/trace, by message. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT_UUID = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 3,
    EVENT_TYPE = 9,
    EVENT_TRACK_UUID = 11,
    EVENT_CATEGORIES = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
};

enum { STATE_CLEARED = 1 };   /* PACKET_SEQUENCE_FLAGS */
enum { UNIT_SIZE_BYTES = 3 }; /* COUNTER_UNIT */
typedef enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 } event_type;

/* Counters of a device; those of the sites come after them. */
enum { LIVE, ALLOCATED, RESERVED, SITES, COUNTER_CNT = SITES + SITE_TRACKS + 1 };

/* Tracks of a device, counted from its own base. */
enum { TRACK_DEVICE = 0, TRACK_STEPS = 1, TRACK_COUNTERS = 2, TRACKS_PER_DEVICE = 100 };
/* Counters of the card, after those of the events: what is in use, then the rows of the ledger. */
enum {
    CARD_USED = COUNTER_CNT,
    CARD_ROWS,
    CARD_ROWS_MAX = TRACKS_PER_DEVICE - TRACK_COUNTERS - CARD_ROWS
};
enum { MARKS_UUID = 1, FIRST_DEVICE_UUID = 1000 };

typedef struct perfetto {
    const sl_trace *trace;
    const sl_export_options *options;
    FILE *to;
    int64_t origin_us; /* subtracted where the clock does not fit */
    sl_pb_out out, packet, part, inner;
    bool has_begun;
} perfetto;

static sl_str text_of(const char *text) {
    return (sl_str){text, strlen(text)};
}

/* Sends the packet that was built. */
static void put_packet(perfetto *p) {
    sl_pb_varint(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
    if (!p->has_begun)
        sl_pb_varint(&p->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    p->has_begun = true;
    sl_pb_message(&p->out, TRACE_PACKET, &p->packet);
    fwrite(p->out.bytes.at, 1, p->out.bytes.cnt, p->to);
    sl_pb_reset(&p->out);
}

/* ---- tracks ---- */

static uint64_t uuid_of(const sl_replay *replay, uint64_t track) {
    /* From 1 for host memory on: a pid of 0 would be the idle task. */
    uint64_t device = (uint64_t)(int64_t)(replay->device->device - SL_DEVICE_HOST);
    return FIRST_DEVICE_UUID + device * TRACKS_PER_DEVICE + track;
}

static void end_track(perfetto *p, uint64_t uuid) {
    sl_pb_varint(&p->part, TRACK_UUID, uuid);
    sl_pb_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->part);
    put_packet(p);
}

static void put_process(perfetto *p, const sl_replay *replay) {
    char name[SL_WORDS_CAP];
    sl_words_device(name, replay->device->device);
    if (!p->trace->has_time)
        sl_words_append(name, " (no clock: one event per microsecond)");
    sl_pb_varint(&p->inner, PROCESS_PID, uuid_of(replay, TRACK_DEVICE));
    sl_pb_text(&p->inner, PROCESS_NAME, text_of(name));
    sl_pb_message(&p->part, TRACK_PROCESS, &p->inner);
    end_track(p, uuid_of(replay, TRACK_DEVICE));
}

static void put_thread(perfetto *p, const sl_replay *replay, const char *name) {
    sl_pb_varint(&p->inner, THREAD_PID, uuid_of(replay, TRACK_DEVICE));
    sl_pb_varint(&p->inner, THREAD_TID, uuid_of(replay, TRACK_STEPS));
    sl_pb_text(&p->inner, THREAD_NAME, text_of(name));
    sl_pb_message(&p->part, TRACK_THREAD, &p->inner);
    sl_pb_varint(&p->part, TRACK_PARENT_UUID, uuid_of(replay, TRACK_DEVICE));
    end_track(p, uuid_of(replay, TRACK_STEPS));
}

static void put_counter(perfetto *p, const sl_replay *replay, size_t counter, const char *name) {
    sl_pb_text(&p->part, TRACK_NAME, text_of(name));
    sl_pb_varint(&p->part, TRACK_PARENT_UUID, uuid_of(replay, TRACK_DEVICE));
    sl_pb_varint(&p->inner, COUNTER_UNIT, UNIT_SIZE_BYTES);
    sl_pb_message(&p->part, TRACK_COUNTER, &p->inner);
    end_track(p, uuid_of(replay, TRACK_COUNTERS + counter));
}

static void put_tracks(perfetto *p, const sl_site_bands *bands, const sl_steps *steps) {
    char name[SL_WORDS_CAP], site[SL_WORDS_CAP];
    put_process(p, bands->replay);
    put_thread(p, bands->replay, steps->is_marked ? "steps" : "steps (inferred)");
    put_counter(p, bands->replay, LIVE, "live, as requested");
    put_counter(p, bands->replay, ALLOCATED, "allocated, in blocks");
    if (bands->replay->reserved_known)
        put_counter(p, bands->replay, RESERVED, "reserved");
    for (size_t i = 0; i < bands->cnt; i++) {
        sl_words_site(site, bands->sites[i], 0);
        snprintf(name, sizeof name, "live at %.480s", site);
        put_counter(p, bands->replay, SITES + i, name);
    }
    put_counter(p, bands->replay, SITES + bands->cnt, "live at all other sites");
}

/* ---- events ---- */

static uint64_t nanoseconds(const perfetto *p, int64_t time_us) {
    uint64_t us = (uint64_t)time_us - (uint64_t)p->origin_us;
    return us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
}

static void begin_event(perfetto *p, event_type type, uint64_t track, int64_t time_us) {
    sl_pb_varint(&p->packet, PACKET_TIMESTAMP, nanoseconds(p, time_us));
    sl_pb_varint(&p->part, EVENT_TYPE, type);
    sl_pb_varint(&p->part, EVENT_TRACK_UUID, track);
}

static void end_event(perfetto *p) {
    sl_pb_message(&p->packet, PACKET_TRACK_EVENT, &p->part);
    put_packet(p);
}

static void put_named(perfetto *p, event_type type, uint64_t track, int64_t time_us, sl_str name) {
    if (!sl_export_wants_time(p->options, time_us))
        return;
    begin_event(p, type, track, time_us);
    if (type != SLICE_END) {
        sl_pb_text(&p->part, EVENT_CATEGORIES, SL_STR("stormlog"));
        sl_pb_text(&p->part, EVENT_NAME, name);
    }
    end_event(p);
}

static void put_value(perfetto *p, uint64_t track, int64_t time_us, uint64_t value) {
    begin_event(p, COUNTER, track, time_us);
    sl_pb_varint(&p->part, EVENT_COUNTER_VALUE, value);
    end_event(p);
}

/* A step may end after the last event. */
static int64_t time_within(const sl_replay *replay, uint32_t event) {
    return sl_replay_time(replay, event < replay->event_cnt ? event : replay->event_cnt - 1);
}

/* As many slices as the report has steps: what follows the last mark is not a step. */
static void put_steps(perfetto *p, const sl_replay *replay, const sl_steps *steps) {
    uint64_t track = uuid_of(replay, TRACK_STEPS);
    for (size_t i = 0; i < steps->ended_cnt; i++) {
        sl_step_range range = sl_steps_range(steps, replay, i);
        int64_t from_us = time_within(replay, range.from);
        char name[48];
        /* A slice whose beginning is outside the window would end one that never began. */
        if (!sl_export_wants_time(p->options, from_us))
            continue;
        snprintf(name, sizeof name, "step %" PRIu64, sl_steps_number(steps, i));
        put_named(p, SLICE_BEGIN, track, from_us, text_of(name));
        begin_event(p, SLICE_END, track, time_within(replay, range.to));
        end_event(p);
    }
}

static void put_instants(perfetto *p, const sl_replay *replay) {
    const sl_events *events = &replay->device->events;
    char name[96], human[SL_HUMAN_CAP];
    uint64_t track = uuid_of(replay, TRACK_STEPS);
    snprintf(name, sizeof name, "peak: %s live",
             sl_human_bytes(human, replay->peak_requested.bytes));
    put_named(p, INSTANT, track, sl_replay_time(replay, replay->peak_requested.event),
              text_of(name));
    for (size_t i = 0; i < events->cnt; i++) {
        if (events->kind[i] != SL_EV_OOM)
            continue;
        snprintf(name, sizeof name, "out of memory: %s requested",
                 sl_human_bytes(human, events->size_bytes[i]));
        put_named(p, INSTANT, track, events->time_us[i], text_of(name));
    }
}

static void read_counters(const sl_band_walk *walk, uint64_t now[COUNTER_CNT]) {
    now[LIVE] = walk->totals.totals.requested_bytes;
    now[ALLOCATED] = walk->totals.totals.allocated_bytes;
    now[RESERVED] = walk->totals.totals.reserved_bytes;
    memcpy(now + SITES, walk->live, (walk->bands->cnt + 1) * sizeof *now);
}

/* Every change of every counter; at the first event inside the window all of them. */
static void put_counters(perfetto *p, const sl_site_bands *bands) {
    const sl_replay *replay = bands->replay;
    uint64_t now[COUNTER_CNT] = {0}, last[COUNTER_CNT] = {0};
    bool has_last = false;
    sl_band_walk walk;
    sl_band_walk_init(&walk, bands);
    for (uint32_t event = 0; sl_band_walk_next(&walk) && !ferror(p->to); event++) {
        int64_t time_us = replay->device->events.time_us[event];
        if (!sl_export_wants_time(p->options, time_us))
            continue;
        read_counters(&walk, now);
        for (size_t i = 0; i < SITES + bands->cnt + 1; i++)
            if ((!has_last || now[i] != last[i]) && (i != RESERVED || replay->reserved_known))
                put_value(p, uuid_of(replay, TRACK_COUNTERS + i), time_us, now[i]);
        memcpy(last, now, sizeof last);
        has_last = true;
    }
}

/* A counter of the card at each change; while it is unknown, the value before is kept. */
static void put_card_value(perfetto *p, const sl_ledger *ledger, size_t row, uint64_t track) {
    sl_maybe_u64 last = {0};
    for (size_t i = 0; i < ledger->moment_cnt; i++) {
        const sl_ledger_moment *at = &ledger->moments[i];
        sl_maybe_u64 now = row == SIZE_MAX ? at->card_used : sl_ledger_bytes(ledger, i)[row];
        if (!now.known || (last.known && now.value == last.value) ||
            !sl_export_wants_time(p->options, at->time_us))
            continue;
        put_value(p, track, at->time_us, now.value);
        last = now;
    }
}

static void put_ledger(perfetto *p, const sl_replay *replay, const sl_ledger *ledger) {
    char name[SL_WORDS_CAP], label[SL_LEDGER_LABEL_CAP];
    if (ledger->moment_cnt == 0)
        return;
    put_counter(p, replay, CARD_USED, "in use on the card");
    put_card_value(p, ledger, SIZE_MAX, uuid_of(replay, TRACK_COUNTERS + CARD_USED));
    for (size_t i = 0; i < ledger->rows.cnt && i < CARD_ROWS_MAX; i++) {
        snprintf(name, sizeof name, "card: %s", sl_ledger_label(label, &ledger->rows.at[i]));
        put_counter(p, replay, CARD_ROWS + i, name);
        put_card_value(p, ledger, i, uuid_of(replay, TRACK_COUNTERS + CARD_ROWS + i));
    }
}

/* On the device's own track; host events appear with every device. */
static void put_alerts(perfetto *p, const sl_replay *replay) {
    char words[SL_WORDS_CAP], name[SL_WORDS_CAP];
    for (size_t i = 0; i < p->trace->alerts.cnt; i++) {
        const sl_alert *alert = &p->trace->alerts.at[i];
        if (alert->device >= 0 && alert->device != replay->device->device)
            continue;
        sl_alert_words(words, p->trace, alert);
        snprintf(name, sizeof name, "alert: %.480s", words);
        put_named(p, INSTANT, uuid_of(replay, TRACK_STEPS), alert->time_us, text_of(name));
    }
}

static void put_marks(perfetto *p) {
    static const event_type types[] = {
        [SL_MARK_BEGIN] = SLICE_BEGIN, [SL_MARK_END] = SLICE_END, [SL_MARK_POINT] = INSTANT};
    bool has_track = false;
    for (size_t i = 0; i < p->trace->marks.cnt; i++) {
        const sl_mark *mark = &p->trace->marks.at[i];
        if (mark->kind == SL_MARK_STEP)
            continue;
        if (!has_track) {
            sl_pb_text(&p->part, TRACK_NAME, SL_STR("marks"));
            end_track(p, MARKS_UUID);
            has_track = true;
        }
        put_named(p, types[mark->kind], MARKS_UUID, mark->time_us,
                  sl_strtab_get(&p->trace->strings, mark->name));
    }
}

/* ---- devices ---- */

static bool put_replay(perfetto *p, const sl_sites *lines, const sl_replay *replay,
                       const sl_steps *steps) {
    sl_site_bands bands;
    bool is_done = sl_site_bands_init(&bands, lines, replay, SL_BANDS_BY_HIGHEST, SITE_TRACKS);
    if (is_done && replay->event_cnt) {
        put_tracks(p, &bands, steps);
        put_steps(p, replay, steps);
        put_instants(p, replay);
        put_counters(p, &bands);
    }
    sl_site_bands_fini(&bands);
    return is_done;
}

static sl_status put_device(perfetto *p, const sl_run_device *device, sl_error *err) {
    const sl_replay *replay;
    const sl_ledger *ledger;
    const sl_sites *lines;
    const sl_steps *steps;
    SL_TRY(sl_run_replay(device, &replay, err));
    SL_TRY(sl_run_ledger(device, &ledger, err));
    SL_TRY(sl_run_lines(device->input, &lines, err));
    SL_TRY(sl_run_steps(device, &steps, err));
    if (!put_replay(p, lines, replay, steps))
        return sl_fail_no_memory(err, "the counters of the sites");
    if (replay->event_cnt) {
        put_ledger(p, replay, ledger);
        put_alerts(p, replay);
    }
    return SL_OK;
}

/* 0, or the first time where the clock is negative or beyond what nanoseconds can hold. */
static int64_t origin_of(const sl_run_input *input) {
    sl_span span;
    if (!sl_run_span(input, NULL, &span) ||
        (span.first_us >= 0 && span.last_us <= INT64_MAX / 1000))
        return 0;
    return span.first_us;
}

sl_status sl_export_perfetto(const sl_run_input *input, const sl_export_options *options, FILE *to,
                             sl_error *err) {
    SL_TRY(sl_export_check_events(input, "a perfetto trace", err));
    perfetto p = {
        .trace = input->trace, .options = options, .to = to, .origin_us = origin_of(input)};
    sl_status status = SL_OK;
    for (size_t i = 0; i < input->device_cnt && status == SL_OK; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            status = put_device(&p, &input->devices[i], err);
    put_marks(&p);
    if (status == SL_OK && p.out.has_failed)
        status = sl_fail_no_memory(err, "a packet of the trace");
    sl_pb_fini(&p.out);
    sl_pb_fini(&p.packet);
    sl_pb_fini(&p.part);
    sl_pb_fini(&p.inner);
    return status < 0 ? status : sl_export_finish(to, err);
}
