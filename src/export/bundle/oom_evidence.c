/* SPDX-License-Identifier: MIT */
#include "export/bundle/oom_evidence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/json_out.h"
#include "export/formats/gzip_out.h"
#include "export/formats/telemetry_record.h"
#include "export/formats/trace_json.h"
#include "export/report/report_format.h"
#include "export/report/site_json.h"

#define RECENT_US  10000000 /* length of the window of newest events before the failure */
#define RECENT_MAX 10000    /* most events in it */
#define TOP_TEXT   10       /* holders in the report for people */
#define PLAIN_MAX  20000    /* a trace up to this many events (1 MB) is not compressed */

static const char *or_null(const char *text) {
    return text && *text ? text : NULL;
}

static void key_or_null(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key_maybe_u64(json, key, (sl_maybe_u64){(uint64_t)value, value >= 0});
}

/* ---- the parts ---- */

static sl_status write_trace(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    return sl_trace_write_json(e->trace, to, err);
}

static sl_status write_packed_trace(const void *self, FILE *to, sl_error *err) {
    FILE *packed = sl_gzip_open(to);
    if (!packed)
        return sl_fail_no_memory(err, "a compressed file");
    setvbuf(packed, NULL, _IOFBF, 1 << 16);
    sl_status status = write_trace(self, packed, err);
    if (fclose(packed) != 0 && status == SL_OK)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot write the compressed trace");
    return status;
}

/* Small files are not compressed, so that people can read them. */
static bool is_worth_packing(const sl_trace *trace) {
    size_t cnt = 0;
    for (size_t i = 0; i < trace->devices.cnt; i++)
        cnt += trace->devices.at[i]->events.cnt;
    return sl_gzip_is_built() && cnt > PLAIN_MAX;
}

static void put_holding(sl_json_out *json, const sl_holding *holding) {
    sl_json_begin_object(json);
    sl_json_key_u64(json, "bytes", holding->bytes);
    sl_json_key_u64(json, "blocks", holding->blocks);
    sl_json_key(json, "site");
    sl_site_json(json, holding->site);
    sl_json_end_object(json);
}

static sl_status write_live_sites(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    const sl_oom_report *oom = &e->report->oom;
    sl_json_out json;
    sl_json_init(&json, to, 2);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", "stormlog.live-sites/1");
    sl_json_key_i64(&json, "device", oom->device);
    sl_json_key_i64(&json, "time_us", oom->time_us);
    sl_json_key(&json, "sites");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < oom->holders.cnt; i++)
        put_holding(&json, &oom->holders.at[i]);
    sl_json_end_array(&json);
    sl_json_key_u64(&json, "other_bytes", oom->holders.other_bytes);
    sl_json_key_u64(&json, "other_blocks", oom->holders.other_blocks);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static void put_counter(sl_json_out *json, const sl_counter_value *counter) {
    sl_json_begin_object(json);
    sl_json_key_i64(json, "device", counter->device);
    sl_json_key_cstr(json, "name", counter->name);
    sl_json_key_cstr(json, "unit", counter->unit);
    sl_json_key_maybe_u64(json, "value", counter->value);
    if (!counter->value.known)
        sl_json_key_cstr(json, "why", or_null(counter->why));
    sl_json_end_object(json);
}

static sl_status write_counters(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    sl_json_out json;
    sl_json_init(&json, to, 2);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", "stormlog.counters/1");
    sl_json_key_i64(&json, "time_us", e->report->oom.time_us);
    sl_json_key(&json, "counters");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < e->counter_cnt; i++)
        put_counter(&json, &e->counters[i]);
    sl_json_end_array(&json);
    sl_json_key(&json, "libraries");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < e->library_cnt; i++) {
        sl_json_begin_object(&json);
        sl_json_key_i64(&json, "device", e->libraries[i].device);
        sl_json_key_cstr(&json, "name", e->libraries[i].name);
        sl_json_key_u64(&json, "bytes", e->libraries[i].bytes);
        sl_json_end_object(&json);
    }
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static void print_event(const sl_oom_evidence *e, const sl_device_trace *device, size_t i,
                        FILE *to) {
    const sl_trace *trace = e->trace;
    char bytes[SL_HUMAN_CAP], place[SL_WORDS_CAP] = "(stack not recorded)";
    sl_event event = sl_events_get(&device->events, i);
    if (sl_stack_depth(&trace->stacks, event.stack_id))
        sl_words_frame(place, trace, sl_stack_frame(&trace->stacks, event.stack_id, 0), 0);
    fprintf(to, "%+12.6f s  device %2d  %-14s 0x%012" PRIx64 " %10s  %s\n",
            (double)(event.time_us - e->report->oom.time_us) / 1e6, device->device,
            sl_event_kind_name(event.kind), event.addr, sl_human_bytes(bytes, event.size_bytes),
            place);
}

/* Seconds before the failure; the newest ones only. */
static sl_status write_recent(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    for (size_t d = 0; d < e->trace->devices.cnt; d++) {
        const sl_device_trace *device = e->trace->devices.at[d];
        size_t cnt = device->events.cnt, i = cnt > RECENT_MAX ? cnt - RECENT_MAX : 0;
        while (i < cnt && e->trace->has_time &&
               device->events.time_us[i] < e->report->oom.time_us - RECENT_US)
            i++;
        for (; i < cnt; i++)
            print_event(e, device, i, to);
    }
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the newest events") : SL_OK;
}

static sl_status write_report_json(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    return sl_report_write_json(e->report, &(sl_report_wishes){.top = TOP_TEXT}, to, err);
}

static sl_status write_report_text(const void *self, FILE *to, sl_error *err) {
    const sl_oom_evidence *e = self;
    return sl_report_write_text(e->report, &(sl_report_wishes){.top = TOP_TEXT}, to, err);
}

/* ---- the four files of every bundle ---- */

static void put_failure(sl_json_out *json, const sl_oom_evidence *e) {
    const sl_oom_report *oom = &e->report->oom;
    sl_json_begin_object(json);
    sl_json_key_u64(json, "number", e->number);
    sl_json_key_cstr(json, "recording", e->origin->recording);
    sl_json_key_i64(json, "device", oom->device);
    sl_json_key_i64(json, "time_us", oom->time_us);
    sl_json_key_u64(json, "requested_bytes", oom->requested_bytes);
    sl_json_key_maybe_u64(json, "allocated_bytes", e->allocated_bytes);
    sl_json_key_maybe_u64(json, "reserved_bytes", e->reserved_bytes);
    sl_json_key_maybe_u64(json, "device_free_bytes", oom->device_free_bytes);
    sl_json_key_maybe_u64(json, "device_total_bytes", e->device_total_bytes);
    sl_json_key_cstr(json, "verdict", sl_verdict_name(e->report->verdict));
    sl_json_key_cstr(json, "cause", sl_oom_cause_name(oom->cause));
    sl_json_key_cstr(json, "explanation", oom->explanation);
    sl_json_key(json, "site");
    sl_site_json(json, oom->site);
    sl_json_end_object(json);
}

static void put_system(sl_json_out *json, const sl_oom_evidence *e) {
    const sl_oom_origin *o = e->origin;
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "host", or_null(o->host));
    sl_json_key_cstr(json, "job_id", or_null(o->job));
    key_or_null(json, "rank", o->rank);
    key_or_null(json, "local_rank", o->local_rank);
    key_or_null(json, "world_size", o->world_size);
    sl_json_key_cstr(json, "executable", or_null(o->exe));
    sl_json_key_cstr(json, "command", or_null(o->command));
    sl_json_key_cstr(json, "torch_version", or_null(o->torch_version));
    sl_json_key_cstr(json, "recorded_by", or_null(o->writer));
    sl_json_end_object(json);
}

/* One of the two as a separate text; NULL when memory ran out. The caller frees it. */
static char *make_text(const sl_oom_evidence *e,
                       void (*put)(sl_json_out *, const sl_oom_evidence *)) {
    char *text = NULL;
    size_t len;
    sl_json_out json;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return NULL;
    sl_json_init(&json, to, 0);
    put(&json, e);
    bool is_bad = sl_json_finish(&json, NULL) < 0;
    if (fclose(to) == 0 && !is_bad)
        return text;
    free(text);
    return NULL;
}

typedef struct sample_sink {
    sl_telemetry *set;
    const sl_oom_origin *origin;
    sl_status status;
    sl_error *err;
} sample_sink;

static void keep_sample(void *self, const sl_telemetry_record *record) {
    sample_sink *sink = self;
    sl_tm_record out;
    if (sink->status == SL_OK)
        sink->status = sl_telemetry_convert(sink->set, record, &out, sink->err);
    if (sink->status < 0)
        return;
    out.pid = sink->origin->pid;
    out.rank = sink->origin->rank >= 0 ? sink->origin->rank : 0;
    out.local_rank = sink->origin->local_rank >= 0 ? sink->origin->local_rank : out.rank;
    out.world_size = sink->origin->world_size >= 1 ? (int32_t)sink->origin->world_size : 1;
    if (!sl_vec_push(&sink->set->records, out))
        sink->status = sl_fail_no_memory(sink->err, "telemetry records");
}

/* Samples of the whole recording, for readers that do not know allocations; none without
 * a clock. */
static sl_status collect_samples(const sl_oom_evidence *e, sl_telemetry *set, sl_error *err) {
    static const sl_export_options everything;
    sample_sink sink = {set, e->origin, SL_OK, err};
    if (!e->trace->has_time)
        return SL_OK;
    SL_TRY(sl_telemetry_walk(e->input, &everything, &(sl_telemetry_sink){keep_sample, &sink}, err));
    return sink.status;
}

static sl_status write_bundle(const sl_oom_bundle *bundle, const sl_telemetry *set,
                              char path[SL_BUNDLE_PATH_CAP], sl_error *err) {
    size_t cnt = set->records.cnt;
    const sl_tm_record **records = malloc((cnt ? cnt : 1) * sizeof *records);
    if (!records)
        return sl_fail_no_memory(err, "a bundle");
    for (size_t i = 0; i < cnt; i++)
        records[i] = &set->records.at[i];
    sl_status status = sl_oom_bundle_write(bundle, set, records, cnt, path, err);
    free(records);
    return status;
}

sl_status sl_oom_evidence_write(const sl_oom_evidence *evidence, const char *parent,
                                const char *name, char path[SL_BUNDLE_PATH_CAP], sl_error *err) {
    bool is_packed = is_worth_packing(evidence->trace);
    const sl_bundle_part parts[] = {
        {is_packed ? "trace.json.gz" : "trace.json", is_packed ? write_packed_trace : write_trace,
         evidence},
        {"live_sites.json", write_live_sites, evidence},
        {"counters.json", write_counters, evidence},
        {"recent_events.txt", write_recent, evidence},
        {"report.json", write_report_json, evidence},
        {"report.txt", write_report_text, evidence},
    };
    char *failure = make_text(evidence, put_failure), *system = make_text(evidence, put_system);
    sl_telemetry *set = sl_telemetry_new();
    sl_oom_bundle bundle = {
        .dump_dir = parent,
        .name = name,
        .backend = evidence->report->oom.device == SL_DEVICE_HOST ? "cpu" : "cuda",
        .reason = "the allocator reported that it is out of memory",
        .context = "stormlog",
        .custom_metadata_json = failure,
        .system_json = system,
        .cwd = evidence->origin->cwd,
        .parts = parts,
        .part_cnt = SL_COUNT_OF(parts),
        .time_s = evidence->report->oom.time_us / 1000000,
        .pid = evidence->origin->pid,
    };
    sl_status status = failure && system && set ? collect_samples(evidence, set, err)
                                                : sl_fail_no_memory(err, "a bundle");
    if (status == SL_OK)
        status = write_bundle(&bundle, set, path, err);
    sl_telemetry_free(set);
    free(failure);
    free(system);
    return status;
}
