/* SPDX-License-Identifier: MIT */
#include "agent/agent_rank.h"

#include <string.h>

#include "base/core/crc.h"
#include "base/core/str.h"
#include "model/trace.h"

/* Devices of one process that are exported. */
#define DEVICES_MAX 16

static sl_status no_memory(sl_error *err) {
    return sl_fail_no_memory(err, "a recording");
}

/* A text of the header, which need not be terminated in a file that is not ours. */
static sl_str header_text(const char *text, size_t cap) {
    return (sl_str){text, strnlen(text, cap)};
}

int64_t sl_agent_rank_start_ms(const sl_agent_rank *rank) {
    return (int64_t)(sl_log_header(rank->reader)->start_wall_ns / 1000000);
}

int64_t sl_agent_rank_newest_ms(const sl_agent_rank *rank) {
    uint64_t ns = sl_log_header(rank->reader)->start_wall_ns + sl_log_newest_ns(rank->reader);
    return (int64_t)(ns / 1000000);
}

/* ---- labels ---- */

static bool set_text(sl_agent_labels *labels, const char *name, const char *text, size_t cap) {
    return sl_agent_labels_set(labels, name, header_text(text, cap));
}

static bool set_known(sl_agent_labels *labels, const char *name, int64_t value) {
    return value < 0 || sl_agent_labels_set_number(labels, name, value);
}

/* The labels that every series has. A pid of the host, where it is known, is among the place's. */
static bool label_process(const sl_agent_rank *rank, sl_agent_labels *labels) {
    const sl_fmt_header *h = sl_log_header(rank->reader);
    return set_text(labels, "Hostname", h->host, sizeof h->host) &&
           set_text(labels, "job", h->job, sizeof h->job) && set_known(labels, "pid", h->pid) &&
           set_known(labels, "rank", sl_log_rank(rank->reader)) &&
           set_known(labels, "local_rank", sl_log_local_rank(rank->reader)) &&
           sl_agent_labels_join(labels, &rank->place) && sl_agent_labels_join(labels, &rank->extra);
}

/* Those that are only of stormlog_info are not on every series: they cost, and nobody sums by them. */
static const char *const info_only[] = {"container_pid", "hw_id", "k8s_pod_uid"};

/* The place names the cards as "gpu:0" and "UUID:0": they are labels of that device alone. */
static bool label_device(const sl_agent_rank *rank, int device, sl_agent_labels *labels) {
    char name[32], text[32];
    if (device < 0)
        return sl_agent_labels_set(labels, "device", SL_STR("host"));
    snprintf(name, sizeof name, "gpu:%d", device);
    const char *gpu = sl_agent_labels_get(&rank->place, name);
    snprintf(text, sizeof text, "%d", device);
    gpu = gpu ? gpu : text;
    snprintf(name, sizeof name, "UUID:%d", device);
    const char *uuid = sl_agent_labels_get(&rank->place, name);
    char full[64];
    snprintf(full, sizeof full, "nvidia%.20s", gpu);
    return sl_agent_labels_set(labels, "gpu", sl_str_of(gpu)) &&
           sl_agent_labels_set(labels, "device", sl_str_of(full)) &&
           (!uuid || sl_agent_labels_set(labels, "UUID", sl_str_of(uuid)));
}

static bool drop_helpers(sl_agent_labels *labels) {
    for (size_t i = labels->list.cnt; i-- > 0;) {
        const char *name = labels->list.at[i].name;
        if (strchr(name, ':') && !sl_agent_labels_set(labels, name, (sl_str){"", 0}))
            return false;
    }
    return true;
}

static bool label_subject(const sl_agent_rank *rank, sl_agent_subject *subject) {
    sl_agent_labels_fini(&subject->labels);
    bool is_made = label_process(rank, &subject->labels) && drop_helpers(&subject->labels);
    for (size_t i = 0; is_made && i < SL_COUNT_OF(info_only); i++)
        is_made = sl_agent_labels_set(&subject->labels, info_only[i], (sl_str){"", 0});
    return is_made &&
           (subject->is_process || label_device(rank, subject->device, &subject->labels));
}

/* OpenTelemetry's hw.id is the card's UUID; of several the first. */
static bool label_info(sl_agent_rank *rank) {
    const sl_fmt_header *h = sl_log_header(rank->reader);
    const char *uuid = sl_agent_labels_get(&rank->place, "UUID:0");
    sl_agent_labels_fini(&rank->info);
    return label_process(rank, &rank->info) && drop_helpers(&rank->info) &&
           set_known(&rank->info, "container_pid", h->pid) &&
           set_known(&rank->info, "world_size", sl_log_world_size(rank->reader)) &&
           set_text(&rank->info, "command", h->cmdline, 128) &&
           (!uuid || sl_agent_labels_set(&rank->info, "hw_id", sl_str_of(uuid)));
}

sl_status sl_agent_rank_relabel(sl_agent_rank *rank, sl_error *err) {
    bool is_made = label_info(rank);
    for (size_t i = 0; is_made && i < rank->subjects.cnt; i++)
        is_made = label_subject(rank, &rank->subjects.at[i]);
    rank->labelled_rank = sl_log_rank(rank->reader);
    return is_made ? SL_OK : no_memory(err);
}

/* ---- counters and devices ---- */

static bool has_subject(const sl_agent_rank *rank, int device) {
    for (size_t i = 0; i < rank->subjects.cnt; i++)
        if (!rank->subjects.at[i].is_process && rank->subjects.at[i].device == device)
            return true;
    return false;
}

/* A device is exported when an allocator counts on it; the host's other counters belong to the process. */
static sl_status add_device(sl_agent_rank *rank, const sl_agent_counter *counter, sl_error *err) {
    if (counter->kind != SL_COUNTER_ALLOCATED || has_subject(rank, counter->device) ||
        rank->subjects.cnt > DEVICES_MAX)
        return SL_OK;
    sl_agent_subject subject = {.device = counter->device};
    if (!label_subject(rank, &subject) || !sl_vec_push(&rank->subjects, subject)) {
        sl_agent_labels_fini(&subject.labels);
        return no_memory(err);
    }
    return SL_OK;
}

static sl_status add_counter(sl_agent_rank *rank, const sl_log_counter_info *info, sl_error *err) {
    sl_agent_counter counter = {.kind = info->kind, .device = info->device};
    SL_TRY(sl_log_read_string(rank->reader, info->name, counter.name, sizeof counter.name, err));
    while (rank->counters.cnt < info->idx) /* one that is not complete yet */
        if (!sl_vec_push(&rank->counters, ((sl_agent_counter){0})))
            return no_memory(err);
    if (!sl_vec_push(&rank->counters, counter))
        return no_memory(err);
    return add_device(rank, &counter, err);
}

sl_status sl_agent_rank_refresh(sl_agent_rank *rank, sl_error *err) {
    SL_TRY(sl_log_refresh(rank->reader, err));
    sl_vec_free(&rank->newest);
    SL_TRY(sl_log_load_counters(rank->reader, &rank->newest, err));
    for (size_t i = 0; i < rank->newest.cnt; i++)
        if (rank->newest.at[i].idx >= rank->counters.cnt)
            SL_TRY(add_counter(rank, &rank->newest.at[i], err));
    sl_log_ending ending = sl_log_get_ending(rank->reader);
    rank->has_ended = ending == SL_LOG_CLOSED || ending == SL_LOG_KILLED || ending == SL_LOG_LEFT;
    return rank->labelled_rank == sl_log_rank(rank->reader) ? SL_OK
                                                            : sl_agent_rank_relabel(rank, err);
}

/* ---- opening ---- */

static sl_status prepare(sl_agent_rank *rank, const char *path, sl_error *err) {
    rank->path = strdup(path);
    if (!rank->path || !sl_vec_push(&rank->subjects, ((sl_agent_subject){.is_process = true})))
        return no_memory(err);
    SL_TRY(sl_log_open(path, &rank->reader, err));
    const sl_fmt_header *h = sl_log_header(rank->reader);
    rank->key = (sl_agent_key){h->start_wall_ns, h->pid,
                               sl_crc32(0, h->host, strnlen(h->host, sizeof h->host))};
    SL_TRY(sl_agent_rank_relabel(rank, err));
    return sl_agent_rank_refresh(rank, err);
}

sl_status sl_agent_rank_open(const char *path, sl_agent_rank **out, sl_error *err) {
    *out = NULL;
    sl_agent_rank *rank = calloc(1, sizeof *rank);
    if (!rank)
        return no_memory(err);
    sl_status status = prepare(rank, path, err);
    if (status < 0)
        sl_agent_rank_close(rank);
    else
        *out = rank;
    return status;
}

void sl_agent_rank_close(sl_agent_rank *rank) {
    if (!rank)
        return;
    for (size_t i = 0; i < rank->subjects.cnt; i++)
        sl_agent_labels_fini(&rank->subjects.at[i].labels);
    sl_vec_free(&rank->subjects);
    sl_agent_labels_fini(&rank->place);
    sl_agent_labels_fini(&rank->extra);
    sl_agent_labels_fini(&rank->info);
    sl_vec_free(&rank->counters);
    sl_vec_free(&rank->newest);
    sl_log_reader_close(rank->reader);
    free(rank->path);
    free(rank);
}
