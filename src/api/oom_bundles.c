/* SPDX-License-Identifier: MIT */
#include "api/oom_bundles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "api/torch_version.h"
#include "export/bundle/oom_evidence.h"
#include "export/formats/gzip_out.h"
#include "log/read/log_reader.h"
#include "read/core/source.h"
#include "run/blocks/trace_cut.h"

/* Of each device in a bundle: some 20 MB of compressed and of plain text. */
#define EVENTS_MAX_PACKED 2000000
#define EVENTS_MAX_PLAIN  400000
#define HOLDERS_MAX       500   /* lines in the live set */
#define NEAR_US           10000 /* an event and its record in the list of failures are this close */
#define LIBRARY_MAX       64
#define VERSION_CAP       64
#define NAME_MAX_LEN      200

/* Everything one bundle is made of while it is being made. */
typedef struct making {
    const char *recording;
    sl_log_reader *log; /* NULL: the input is not a recording */
    sl_trace *trace;
    sl_run *run;
    sl_report *report;
    sl_log_counters counter_infos;
    sl_log_tables tables;
    sl_arena arena; /* owns the texts of the next three */
    SL_VEC(sl_counter_value) counters;
    SL_VEC(sl_library_value) libraries;
    sl_oom_origin origin;
    char torch_version[VERSION_CAP];
    sl_oom_evidence evidence;
} making;

static bool is_known_bytes(uint64_t value) {
    return value != UINT64_MAX;
}

static sl_maybe_u64 maybe(uint64_t value) {
    return (sl_maybe_u64){is_known_bytes(value) ? value : 0, is_known_bytes(value)};
}

/* Opens the log where the input is one. */
static sl_status open_log(const char *recording, sl_log_reader **log, sl_error *err) {
    *log = NULL;
    sl_status status = sl_log_open(recording, log, err);
    if (status != SL_E_FOREIGN)
        return status < 0 ? sl_error_prefix(err, "cannot read '%s'", recording) : SL_OK;
    *err = (sl_error)SL_ERROR_INIT;
    return SL_OK;
}

/* ---- which event ---- */

typedef struct place {
    int device;
    size_t event;
} place;

static bool find_nearest(const sl_trace *trace, const sl_fmt_oom *oom, int64_t time_us,
                         place *found) {
    int device = (int32_t)(uint32_t)oom->device_word;
    const sl_device_trace *there = sl_trace_find_device(trace, device);
    int64_t best_us = NEAR_US + 1;
    for (size_t i = 0; there && i < there->events.cnt; i++) {
        int64_t apart = llabs(there->events.time_us[i] - time_us);
        if (there->events.kind[i] != SL_EV_OOM || apart >= best_us)
            continue;
        best_us = apart;
        *found = (place){device, i};
    }
    return best_us <= NEAR_US;
}

/* Failure `number` of an input that only has events, in the order of devices and times. */
static bool find_ordinal(const sl_trace *trace, uint64_t number, place *found) {
    for (size_t d = 0; d < trace->devices.cnt; d++) {
        const sl_device_trace *device = trace->devices.at[d];
        for (size_t i = 0; i < device->events.cnt; i++) {
            if (device->events.kind[i] != SL_EV_OOM || --number > 0)
                continue;
            *found = (place){device->device, i};
            return true;
        }
    }
    return false;
}

static uint64_t count_events(const sl_trace *trace) {
    uint64_t cnt = 0;
    for (size_t d = 0; d < trace->devices.cnt; d++)
        for (size_t i = 0; i < trace->devices.at[d]->events.cnt; i++)
            cnt += trace->devices.at[d]->events.kind[i] == SL_EV_OOM;
    return cnt;
}

static sl_status fail_gone(uint64_t number, sl_error *err) {
    return sl_fail(err, SL_E_LAPPED,
                   "the events of failed request %" PRIu64 " are not in the recording", number);
}

static sl_status find_record(sl_log_reader *log, uint64_t number, sl_fmt_oom *out, sl_error *err) {
    sl_log_ooms ooms;
    bool is_found = false;
    SL_TRY(sl_log_load_ooms(log, &ooms, err));
    for (size_t i = 0; i < ooms.cnt && !is_found; i++)
        if (ooms.at[i].seq >> 8 == number) {
            *out = ooms.at[i];
            is_found = true;
        }
    sl_vec_free(&ooms);
    return is_found ? SL_OK : fail_gone(number, err);
}

/* ---- counters ---- */

static const char *copy_text(making *m, sl_str text) {
    const char *copy = sl_arena_copy(&m->arena, text.ptr, text.len);
    return copy ? copy : "";
}

/* Its value at this time of the log; the newest one where the curve does not reach. */
static sl_status value_at(making *m, const sl_log_counter_info *info, uint64_t time_ns,
                          sl_maybe_u64 *value, sl_error *err) {
    sl_log_bins bins;
    SL_TRY(sl_log_load_curve(m->log, info->idx, &bins, err));
    *value = (sl_maybe_u64){info->last, info->is_available};
    for (size_t i = 0; i < bins.cnt && bins.at[i].start_ns <= time_ns; i++)
        *value = sl_known_u64(bins.at[i].last);
    sl_vec_free(&bins);
    return SL_OK;
}

static sl_status take_counters(making *m, uint64_t time_ns, sl_error *err) {
    SL_TRY(sl_log_load_counters(m->log, &m->counter_infos, err));
    for (size_t i = 0; i < m->counter_infos.cnt; i++) {
        const sl_log_counter_info *info = &m->counter_infos.at[i];
        sl_counter_value row = {
            .device = info->device,
            .name = info->kind == SL_COUNTER_CUSTOM
                        ? copy_text(m, sl_log_get_string(m->log, info->name))
                        : sl_counter_name(info->kind),
            .unit = info->kind == SL_COUNTER_CUSTOM ? "bytes" : sl_counter_unit(info->kind),
            .why = info->why ? copy_text(m, sl_log_get_string(m->log, info->why)) : NULL};
        SL_TRY(value_at(m, info, time_ns, &row.value, err));
        if (!sl_vec_push(&m->counters, row))
            return sl_fail_no_memory(err, "counters");
    }
    return SL_OK;
}

static sl_library_value *find_library(making *m, int device, const char *name) {
    for (size_t i = 0; i < m->libraries.cnt; i++)
        if (m->libraries.at[i].device == device && strcmp(m->libraries.at[i].name, name) == 0)
            return &m->libraries.at[i];
    if (m->libraries.cnt == LIBRARY_MAX ||
        !sl_vec_push(&m->libraries, ((sl_library_value){device, name, 0})))
        return NULL;
    return &m->libraries.at[m->libraries.cnt - 1];
}

/* What each library holds in the driver now: their totals have no history. */
static sl_status take_libraries(making *m, sl_error *err) {
    SL_TRY(sl_log_load_tables(m->log, &m->tables, err));
    for (size_t i = 0; i < m->tables.sites.cnt; i++) {
        const sl_log_site *site = &m->tables.sites.at[i];
        if (site->domain != SL_DOMAIN_DRIVER || !site->live_bytes)
            continue;
        const char *name = copy_text(m, sl_log_get_label(m->log, site->label));
        sl_library_value *row = find_library(m, site->device, name);
        if (row)
            row->bytes += site->live_bytes;
    }
    return SL_OK;
}

/* ---- one bundle ---- */

static void take_origin(making *m) {
    const sl_fmt_header *header = sl_log_header(m->log);
    bool is_live = sl_log_get_ending(m->log) == SL_LOG_LIVE;
    sl_torch_version_find(m->trace, is_live ? (int)header->pid : 0, m->torch_version,
                          sizeof m->torch_version);
    m->origin = (sl_oom_origin){.recording = m->recording,
                                .host = header->host,
                                .job = header->job,
                                .exe = header->exe,
                                .cwd = header->cwd,
                                .command = header->cmdline,
                                .writer = header->writer,
                                .torch_version = m->torch_version,
                                .pid = (int)header->pid,
                                .rank = sl_log_rank(m->log),
                                .local_rank = sl_log_local_rank(m->log),
                                .world_size = sl_log_world_size(m->log)};
}

/* Facts that only the log has; the event they belong to goes into *found. */
static sl_status take_from_log(making *m, uint64_t number, place *found, sl_error *err) {
    sl_fmt_oom oom = {0};
    SL_TRY(sl_log_load_names(m->log, err));
    SL_TRY(find_record(m->log, number, &oom, err));
    int64_t start_us = (int64_t)(sl_log_header(m->log)->start_wall_ns / 1000);
    if (!find_nearest(m->trace, &oom, start_us + (int64_t)(oom.time_ns / 1000), found))
        return fail_gone(number, err);
    take_origin(m);
    SL_TRY(take_counters(m, oom.time_ns, err));
    SL_TRY(take_libraries(m, err));
    m->evidence.allocated_bytes = maybe(oom.allocated);
    m->evidence.reserved_bytes = maybe(oom.reserved);
    m->evidence.device_total_bytes = maybe(oom.device_total);
    return SL_OK;
}

static sl_status take_from_trace(making *m, uint64_t number, place *found, sl_error *err) {
    m->origin =
        (sl_oom_origin){.recording = m->recording, .rank = -1, .local_rank = -1, .world_size = -1};
    return find_ordinal(m->trace, number, found) ? SL_OK : fail_gone(number, err);
}

static sl_status analyze(making *m, sl_error *err) {
    const sl_trace *traces[] = {m->trace};
    SL_TRY(sl_run_new(traces, 1, &m->run, err));
    /* Written while the program goes on and wants its cores; whoever reads the bundle can replay it. */
    m->run->effort.no_whatif = true;
    SL_TRY(sl_analyze(m->run, &(sl_analysis_options){.top = HOLDERS_MAX}, &m->report, err));
    return m->report->oom.present
               ? SL_OK
               : sl_fail(err, SL_E_INTERNAL, "the report does not contain the failed request");
}

static sl_status gather(making *m, uint64_t number, sl_error *err) {
    place found = {0};
    size_t max_events = sl_gzip_is_built() ? EVENTS_MAX_PACKED : EVENTS_MAX_PLAIN;
    SL_TRY(sl_trace_load(m->recording, NULL, &m->trace, err));
    SL_TRY(m->log ? take_from_log(m, number, &found, err)
                  : take_from_trace(m, number, &found, err));
    SL_TRY(sl_trace_cut(m->trace, found.device, found.event, max_events, err));
    SL_TRY(analyze(m, err));
    m->evidence.input = &m->run->inputs[0];
    m->evidence.trace = m->trace;
    m->evidence.report = m->report;
    m->evidence.origin = &m->origin;
    m->evidence.number = number;
    m->evidence.counters = m->counters.at;
    m->evidence.counter_cnt = m->counters.cnt;
    m->evidence.libraries = m->libraries.at;
    m->evidence.library_cnt = m->libraries.cnt;
    return SL_OK;
}

static void release(making *m) {
    sl_report_free(m->report);
    sl_run_free(m->run);
    sl_trace_free(m->trace);
    sl_log_tables_fini(&m->tables);
    sl_vec_free(&m->counter_infos);
    sl_vec_free(&m->counters);
    sl_vec_free(&m->libraries);
    sl_arena_fini(&m->arena);
    sl_log_reader_close(m->log);
}

/* "<folder>" and "<file>" of a path; "." where it has no folder. */
static sl_status split_path(const char *path, char folder[SL_BUNDLE_PATH_CAP], const char **file,
                            sl_error *err) {
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    *file = slash ? slash + 1 : path;
    if (len >= SL_BUNDLE_PATH_CAP || strlen(*file) > NAME_MAX_LEN)
        return sl_fail(err, SL_E_LIMIT, "the path '%.60s...' is too long", path);
    if (!slash)
        strcpy(folder, ".");
    else if (len == 0)
        strcpy(folder, "/");
    else {
        memcpy(folder, path, len);
        folder[len] = '\0';
    }
    return SL_OK;
}

/* Before anything is read: asking for a bundle that is there costs nothing. */
static sl_status check_absent(const char *parent, const char *name, sl_error *err) {
    char path[SL_BUNDLE_PATH_CAP];
    int len = snprintf(path, sizeof path, "%s/%s", parent, name);
    if (len < (int)sizeof path && access(path, F_OK) == 0)
        return sl_fail(err, SL_E_OPEN, "'%s' exists already", path);
    return SL_OK;
}

sl_status sl_oom_bundles_write(const char *recording, const char *parent, uint64_t number,
                               char path[SL_BUNDLE_PATH_CAP], sl_error *err) {
    char folder[SL_BUNDLE_PATH_CAP], written[SL_BUNDLE_PATH_CAP], name[NAME_MAX_LEN + 32];
    const char *file;
    sl_error local = SL_ERROR_INIT;
    making m = {.recording = recording};
    err = err ? err : &local;
    SL_TRY(split_path(recording, folder, &file, err));
    snprintf(name, sizeof name, "%s.oom-%" PRIu64, file, number);
    parent = parent ? parent : folder;
    SL_TRY(check_absent(parent, name, err));
    SL_TRY(open_log(recording, &m.log, err));
    sl_status status = gather(&m, number, err);
    if (status == SL_OK)
        status = sl_oom_evidence_write(&m.evidence, parent, name, path ? path : written, err);
    release(&m);
    return status;
}

/* ---- all of a recording ---- */

static sl_status count_in_trace(const char *recording, uint64_t *cnt, sl_error *err) {
    sl_trace *trace;
    SL_TRY(sl_trace_load(recording, NULL, &trace, err));
    *cnt = count_events(trace);
    sl_trace_free(trace);
    return SL_OK;
}

sl_status sl_oom_bundles_count(const char *recording, uint64_t *cnt, sl_error *err) {
    sl_log_reader *log;
    sl_error local = SL_ERROR_INIT;
    err = err ? err : &local;
    SL_TRY(open_log(recording, &log, err));
    if (!log)
        return count_in_trace(recording, cnt, err);
    *cnt = sl_log_list_used(log, SL_SECTION_OOMS);
    sl_log_reader_close(log);
    return SL_OK;
}

/* One call of sl_oom_bundles_write_all. */
typedef struct batch {
    const char *recording, *parent;
    sl_oom_bundle_fn told;
    void *self;
    sl_oom_bundles_result *result;
} batch;

/* The list of failures keeps the newest: the number of the oldest one in it. */
static sl_status find_oldest(const char *recording, uint64_t *oldest, sl_error *err) {
    sl_log_reader *log;
    sl_log_ooms ooms;
    *oldest = 1;
    SL_TRY(open_log(recording, &log, err));
    if (!log)
        return SL_OK;
    sl_status status = sl_log_load_ooms(log, &ooms, err);
    if (status == SL_OK) {
        *oldest = ooms.cnt ? ooms.at[0].seq >> 8 : 1;
        for (size_t i = 1; i < ooms.cnt; i++)
            *oldest = ooms.at[i].seq >> 8 < *oldest ? ooms.at[i].seq >> 8 : *oldest;
        sl_vec_free(&ooms);
    }
    sl_log_reader_close(log);
    return status;
}

/* Failures `first` to `last`, until the recording has as many bundles as it gets. */
static sl_status write_range(const batch *b, uint64_t first, uint64_t last, sl_error *err) {
    sl_oom_bundles_result *result = b->result;
    for (uint64_t number = first;
         number <= last && result->written_cnt + result->present_cnt < SL_OOM_BUNDLES_MAX;
         number++) {
        char path[SL_BUNDLE_PATH_CAP];
        sl_status status = sl_oom_bundles_write(b->recording, b->parent, number, path, err);
        result->present_cnt += status == SL_E_OPEN;
        if (status < 0 && status != SL_E_OPEN && status != SL_E_LAPPED)
            return status;
        if (status != SL_OK)
            continue;
        result->written_cnt++;
        if (b->told)
            b->told(b->self, path);
    }
    return SL_OK;
}

/* The first failures say most. Where so many came at once that these are gone, the oldest that are
 * left. */
static sl_status write_batch(const batch *b, uint64_t cnt, sl_error *err) {
    uint64_t oldest;
    SL_TRY(write_range(b, 1, cnt < SL_OOM_BUNDLES_MAX ? cnt : SL_OOM_BUNDLES_MAX, err));
    if (cnt <= SL_OOM_BUNDLES_MAX)
        return SL_OK;
    SL_TRY(find_oldest(b->recording, &oldest, err));
    uint64_t first = oldest > SL_OOM_BUNDLES_MAX ? oldest : SL_OOM_BUNDLES_MAX + 1;
    return oldest > 1 ? write_range(b, first, cnt, err) : SL_OK;
}

sl_status sl_oom_bundles_write_all(const char *recording, const char *parent, sl_oom_bundle_fn told,
                                   void *self, sl_oom_bundles_result *result, sl_error *err) {
    uint64_t cnt;
    sl_error local = SL_ERROR_INIT;
    batch b = {recording, parent, told, self, result};
    err = err ? err : &local;
    *result = (sl_oom_bundles_result){0};
    SL_TRY(sl_oom_bundles_count(recording, &cnt, err));
    sl_status status = write_batch(&b, cnt, err);
    result->failure_cnt = cnt;
    result->beyond_cnt = (size_t)cnt - result->written_cnt - result->present_cnt;
    return status;
}
