/* SPDX-License-Identifier: MIT */
#include "cli/top_ledger.h"

#include <string.h>

static const sl_maybe_u64 unknown = {0, false};

static bool str_equal(sl_str a, const char *b) {
    return a.len == strlen(b) && memcmp(a.ptr, b, a.len) == 0;
}

static sl_maybe_u64 last_of(const sl_log_counters *counters, const sl_log_reader *reader,
                            int device, uint32_t kind, const char *name) {
    for (size_t i = 0; i < counters->cnt; i++) {
        const sl_log_counter_info *info = &counters->at[i];
        if (info->kind == kind && info->device == device &&
            (!name || str_equal(sl_log_get_string(reader, info->name), name)))
            return info->is_available ? sl_known_u64(info->last) : unknown;
    }
    return unknown;
}

/* a - b, where both are known and b is not the larger one (they were read at different moments). */
static sl_maybe_u64 less(sl_maybe_u64 a, sl_maybe_u64 b) {
    if (!a.known || !b.known)
        return unknown;
    return sl_known_u64(a.value > b.value ? a.value - b.value : 0);
}

/* PyTorch takes its segments through these, but others may too. */
static bool may_be_torch(sl_str label) {
    return str_equal(label, "libcudart") || str_equal(label, "libc10_cuda");
}

static void add_library(sl_ledger *ledger, sl_str name, uint64_t bytes) {
    ledger->library_bytes += bytes;
    for (size_t i = 0; i < ledger->library_cnt; i++) {
        sl_ledger_library *row = &ledger->libraries[i];
        if (row->name.len == name.len && memcmp(row->name.ptr, name.ptr, name.len) == 0) {
            row->bytes += bytes;
            return;
        }
    }
    if (ledger->library_cnt < SL_LEDGER_LIBRARY_MAX)
        ledger->libraries[ledger->library_cnt++] = (sl_ledger_library){name, bytes};
}

/* What PyTorch's allocator holds is in its own rows; callers that share a library with it are what
 * is beyond that. `reserved` is 0 where PyTorch has nothing. */
static void sum_driver(sl_ledger *ledger, int device, const sl_log_tables *tables,
                       uint64_t reserved, const sl_log_reader *reader) {
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        if (site->domain != SL_DOMAIN_DRIVER || site->device != device || !site->live_bytes)
            continue;
        sl_str label = sl_log_get_label(reader, site->label);
        uint64_t own = may_be_torch(label) ? site->live_bytes : 0;
        own = own < reserved ? own : reserved;
        reserved -= own;
        if (site->live_bytes > own)
            add_library(ledger, label, site->live_bytes - own);
    }
}

void sl_ledger_fill(sl_ledger *ledger, int device, const sl_log_tables *tables,
                    const sl_log_counters *counters, const sl_log_reader *reader) {
    *ledger = (sl_ledger){.library_cnt = 0};
    sl_maybe_u64 reserved = last_of(counters, reader, device, SL_COUNTER_RESERVED, NULL);
    sl_maybe_u64 process = last_of(counters, reader, device, SL_COUNTER_PROCESS_USED, NULL);
    sum_driver(ledger, device, tables, reserved.known ? reserved.value : 0, reader);
    ledger->card_used = last_of(counters, reader, device, SL_COUNTER_DEVICE_USED, NULL);
    ledger->card_total = last_of(counters, reader, device, SL_COUNTER_DEVICE_TOTAL, NULL);
    ledger->tensors = last_of(counters, reader, device, SL_COUNTER_ALLOCATED, NULL);
    ledger->cache = less(reserved, ledger->tensors);
    ledger->others = last_of(counters, reader, device, SL_COUNTER_CUSTOM, "other_processes");
    /* A process that never used PyTorch's allocator has nothing in it. */
    sl_maybe_u64 named =
        sl_known_u64((reserved.known ? reserved.value : 0) + ledger->library_bytes);
    ledger->context = less(process, named);
    ledger->driver = last_of(counters, reader, device, SL_COUNTER_CUSTOM, "driver_reserved");
    ledger->rest = less(less(ledger->card_used, process), ledger->others);
    if (ledger->driver.known)
        ledger->rest = less(ledger->rest, ledger->driver);
}
