/* SPDX-License-Identifier: MIT */
#include "record/core/sampler.h"

#include <fcntl.h>
#include <string.h>

#include "counters/counters.h"
#include "record/core/alert_rules.h"
#include "record/hooks/got_patch.h"
#include "record/training/backward_map.h"
#include "record/training/tag_scan.h"

_Atomic(uint64_t) sl_sampler_devices;
atomic_bool sl_sampler_is_wanted;

#define DEVICE_MAX 64

/* Where the figures of one sample go: kind of counter by offset in the sample. */
typedef struct field_row {
    sl_counter_kind kind;
    size_t offset;
    const char *name; /* of SL_COUNTER_CUSTOM */
} field_row;

static const field_row host_fields[] = {
    {SL_COUNTER_HOST_RSS, offsetof(sl_host_sample, rss_bytes), NULL},
    {SL_COUNTER_HOST_AVAILABLE, offsetof(sl_host_sample, available_bytes), NULL},
    {SL_COUNTER_HOST_CGROUP, offsetof(sl_host_sample, cgroup_bytes), NULL},
    {SL_COUNTER_DEVICE_TOTAL, offsetof(sl_host_sample, total_bytes), NULL},
};

static const field_row device_fields[] = {
    {SL_COUNTER_DEVICE_USED, offsetof(sl_device_sample, used_bytes), NULL},
    {SL_COUNTER_DEVICE_TOTAL, offsetof(sl_device_sample, total_bytes), NULL},
    {SL_COUNTER_PROCESS_USED, offsetof(sl_device_sample, process_bytes), NULL},
    {SL_COUNTER_CUSTOM, offsetof(sl_device_sample, others_bytes), "other_processes"},
    {SL_COUNTER_CUSTOM, offsetof(sl_device_sample, reserved_bytes), "driver_reserved"},
    {SL_COUNTER_UTILIZATION, offsetof(sl_device_sample, utilization_pct), NULL},
    {SL_COUNTER_TEMPERATURE, offsetof(sl_device_sample, temperature_c), NULL},
    {SL_COUNTER_POWER, offsetof(sl_device_sample, power_mw), NULL},
};

static const sl_counters_ops *back_end; /* NULL = not open */
static sl_error refused =
    SL_ERROR_INIT;             /* why no back end works on this machine; checked only once */
static atomic_bool is_loaded;  /* the vendors' libraries are in the process, if they exist */
static atomic_bool is_reading; /* the helper is inside the back end's library */

static void put(sl_log *log, const field_row *row, int device, const void *sample,
                const char *why) {
    sl_maybe_u64 value;
    memcpy(&value, (const char *)sample + row->offset, sizeof value);
    uint32_t name = row->name ? sl_log_string(log, row->name, strlen(row->name)) : 0;
    int counter = sl_log_counter(log, row->kind, device, name);
    if (counter < 0)
        return;
    if (value.known) {
        sl_log_counter_set(log, counter, value.value);
        return;
    }
    if (!why)
        why = "not available on this machine";
    sl_log_counter_unavailable(log, counter, sl_log_string(log, why, strlen(why)));
}

static void run_host(sl_log *log) {
    sl_host_sample sample;
    sl_counters_read_host(&sample);
    for (size_t i = 0; i < SL_COUNT_OF(host_fields); i++)
        put(log, &host_fields[i], -1, &sample, NULL);
    sl_maybe_u64 used = {sample.total_bytes.value - sample.available_bytes.value,
                         sample.total_bytes.known && sample.available_bytes.known};
    sl_alert_check(log, SL_ALERT_HOST_FULL, -1, used, sample.total_bytes);
}

static void refuse(sl_log *log, int device, const char *why) {
    sl_device_sample nothing = {0};
    for (size_t i = 0; i < SL_COUNT_OF(device_fields); i++)
        put(log, &device_fields[i], device, &nothing, why);
}

static void run_device(sl_log *log, int device) {
    sl_device_sample sample;
    sl_error err = SL_ERROR_INIT;
    if (!back_end || back_end->read(device, &sample, &err) < 0) {
        refuse(log, device, back_end ? err.text : refused.text);
        return;
    }
    for (size_t i = 0; i < SL_COUNT_OF(device_fields); i++)
        put(log, &device_fields[i], device, &sample,
            device_fields[i].kind == SL_COUNTER_PROCESS_USED ? sample.process_why : NULL);
    sl_alert_check(log, SL_ALERT_DEVICE_FULL, device, sample.used_bytes, sample.total_bytes);
}

/* The library's file, while it is loaded, and its devices would have the number of a stream that is closed. */
static bool has_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            return false;
    return true;
}

static void open_back_end(sl_log *log) {
    if (back_end || (refused.code && refused.code != SL_E_BUSY))
        return;
    if (!has_standard_streams()) { /* asked again at the next reading */
        (void)sl_fail(&refused, SL_E_BUSY,
                      "a standard stream is closed, and the driver would get its file descriptor");
        return;
    }
    refused = (sl_error)SL_ERROR_INIT;
    sl_got_wait_for_loader();
    back_end = sl_counters_open(&refused);
    if (!back_end)
        sl_log_health_add(log, SL_HEALTH_SAMPLE_FAILURE, 1);
}

/* How much of the backward pass has a line; nothing while there was none. */
static void run_backward(sl_log *log) {
    static const field_row rows[] = {{SL_COUNTER_CUSTOM, 0, "backward_bytes"},
                                     {SL_COUNTER_CUSTOM, 0, "backward_mapped_bytes"}};
    sl_maybe_u64 all = sl_known_u64(sl_backward_get_bytes());
    sl_maybe_u64 mapped = sl_known_u64(sl_backward_get_mapped_bytes());
    if (!all.value)
        return;
    put(log, &rows[0], -1, &all, NULL);
    put(log, &rows[1], -1, &mapped, NULL);
}

/* What scanning optimizers has cost so far; nothing before the first scan. */
static void run_tags(sl_log *log) {
    static const field_row rows[] = {{SL_COUNTER_CUSTOM, 0, "tag_scans"},
                                     {SL_COUNTER_CUSTOM, 0, "tag_scan_calls"},
                                     {SL_COUNTER_CUSTOM, 0, "tag_scan_ns"}};
    sl_tag_scan_cost cost = sl_tag_scan_get_cost();
    if (!cost.scans)
        return;
    const sl_maybe_u64 values[] = {sl_known_u64(cost.scans), sl_known_u64(cost.calls),
                                   sl_known_u64(cost.ns)};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        put(log, &rows[i], -1, &values[i], NULL);
}

/* The vendor's library is loaded by the thread that reads files, with its own descriptors: the program may close
 * every number it finds while the loader has the library's file open, and what it opens next would be mapped in
 * its place. */
static void load_back_ends(void) {
    if (!atomic_load(&sl_sampler_devices) || atomic_load(&is_loaded))
        return;
    sl_got_wait_for_loader();
    sl_counters_load();
    atomic_store(&is_loaded, true);
}

void sl_sampler_run_host(sl_log *log) {
    load_back_ends();
    run_host(log);
    run_backward(log);
    run_tags(log);
}

void sl_sampler_run_devices(sl_log *log) {
    uint64_t devices = atomic_load(&sl_sampler_devices);
    if (!devices || !atomic_load(&is_loaded))
        return;
    atomic_store(&is_reading, true);
    open_back_end(log);
    for (int i = 0; i < DEVICE_MAX; i++)
        if (devices >> i & 1) {
            sl_log_maintain(log); /* room for the counters of one more device */
            run_device(log, i);
        }
    atomic_store(&is_reading, false);
}

void sl_sampler_finish(sl_log *log) {
    run_host(log);
    run_backward(log);
    run_tags(log);
}

/* The driver's library stays open: closing it would close the numbers that it has noted, whoever has them now. */
void sl_sampler_reset(void) {
    sl_alert_reset();
    atomic_store(&sl_sampler_devices, 0);
}

void sl_sampler_after_fork_child(void) {
    sl_alert_reset();
    back_end = NULL;
    refused = (sl_error)SL_ERROR_INIT;
    /* The library's own locks may be held by a thread that does not exist here. */
    if (atomic_exchange(&is_reading, false))
        (void)sl_fail(&refused, SL_E_SYSTEM,
                      "the parent process was reading its counters when it forked");
    atomic_store(&sl_sampler_devices, 0);
}
