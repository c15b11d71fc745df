/* SPDX-License-Identifier: MIT */
/* Steps, marks, alerts and out-of-memory records: lists that wrap. A record is taken by number,
 * begun by storing seq 0, and complete when its seq is stored. */
#include <string.h>

#include "log/write/log_writer_impl.h"

static uint64_t halves(uint32_t low, uint32_t high) {
    return low | (uint64_t)high << 32;
}

/* Words 1 .. of the record, then the seq: a reader that finds the same seq before and after has a
 * whole record (L4 in small). */
static void add_record(sl_log *log, sl_section_kind section, const void *record, uint8_t kind) {
    sl_fmt_watermark *wm = log->wm[section];
    size_t word_cnt = sl_section_record_bytes(section) / sizeof(uint64_t);
    uint64_t number = sl__mark_add(log, wm, 1);
    uint64_t slot = number % sl_get_acquire(&wm->reserved);
    uint64_t *to = (uint64_t *)(void *)log->at[section] + slot * word_cnt, word;
    sl_set_release(&to[0], 0);
    for (size_t i = 1; i < word_cnt; i++) {
        memcpy(&word, (const uint64_t *)record + i, sizeof word);
        sl_set_release(&to[i], word);
    }
    sl_set_release(&to[0], (number + 1) << 8 | kind);
}

/* All devices together; the host's total only if no device has reported one. */
static uint64_t allocated_now(const sl_log *log) {
    uint64_t sum = SL_LOG_UNKNOWN;
    const sl_fmt_counter *counters = (const void *)log->at[SL_SECTION_COUNTERS];
    for (size_t i = SL_DEVICE_SLOTS; i-- > 0;) {
        uint32_t known = sl_get32_acquire(&log->device_counters[i].allocated);
        bool is_host = i == 0;
        if (known == 0 || known == UINT32_MAX || (is_host && sum != SL_LOG_UNKNOWN))
            continue;
        sum = (sum == SL_LOG_UNKNOWN ? 0 : sum) + sl_get(&counters[known - 1].last);
    }
    return sum;
}

/* Kept twice: in the list, which outlives the ring, and among the events, where its order to them
 * can be seen. */
static void add_mark(sl_log *log, sl_event_kind kind, uint64_t number, uint32_t name) {
    uint64_t time_ns = sl__now(log);
    sl_log_thread *thread = sl__log_attach(log);
    sl_fmt_mark mark = {0, time_ns, number, halves(name, thread ? thread->tid : 0),
                        allocated_now(log)};
    sl_log_event event = {.kind = (uint8_t)kind,
                          .device = -1,
                          .addr = kind == SL_EV_STEP ? number : name,
                          .size = sl_clamp48(mark.value)};
    if (mark.value == SL_LOG_UNKNOWN)
        event.size = 0;
    add_record(log, SL_SECTION_MARKS, &mark, (uint8_t)kind);
    sl__ring_append(log, &event, time_ns, 0);
}

void sl_log_step(sl_log *log, uint64_t number, uint32_t name) {
    add_mark(log, SL_EV_STEP, number, name);
}

void sl_log_mark(sl_log *log, sl_event_kind kind, uint32_t name) {
    if (kind == SL_EV_MARK_BEGIN || kind == SL_EV_MARK_END || kind == SL_EV_ANNOTATE ||
        kind == SL_EV_WORK_END)
        add_mark(log, kind, 0, name);
    else
        sl__health(log, SL_HEALTH_BAD_EVENT);
}

void sl_log_mark_number(sl_log *log, sl_event_kind kind, uint64_t number, uint32_t name) {
    if (kind == SL_EV_SETTINGS || kind == SL_EV_TRACKING)
        add_mark(log, kind, number, name);
    else
        sl__health(log, SL_HEALTH_BAD_EVENT);
}

void sl_log_alert_add(sl_log *log, const sl_log_alert *alert) {
    uint64_t time_ns = sl__now(log);
    sl_fmt_alert record = {0,
                           time_ns,
                           halves(alert->rule, alert->text),
                           halves((uint32_t)alert->device, alert->severity),
                           alert->value,
                           alert->threshold};
    sl_log_event event = {.kind = SL_EV_ALERT,
                          .device = (int8_t)alert->device,
                          .addr = alert->rule,
                          .size = sl_clamp48(alert->value)};
    add_record(log, SL_SECTION_ALERTS, &record, SL_EV_ALERT);
    sl__ring_append(log, &event, time_ns, 0);
}

/* ---- out of memory ---- */

static void insert_holder(sl_fmt_oom *oom, const sl_fmt_holder *holder) {
    uint64_t i = oom->holder_cnt;
    if (i == SL_FORMAT_HOLDER_MAX && oom->holders[i - 1].bytes >= holder->bytes)
        return;
    if (i < SL_FORMAT_HOLDER_MAX)
        oom->holder_cnt++;
    else
        i--;
    for (; i > 0 && oom->holders[i - 1].bytes < holder->bytes; i--)
        oom->holders[i] = oom->holders[i - 1];
    oom->holders[i] = *holder;
}

static void collect_holders(const sl_log *log, int32_t device, sl_fmt_oom *oom) {
    uint64_t cnt = sl_get_acquire(&log->wm[SL_SECTION_SITES]->used);
    for (uint32_t i = 1; i < cnt; i++) {
        const sl_fmt_site *site = sl__site(log, i);
        uint64_t word = sl_get_acquire((const uint64_t *)(const void *)site);
        uint64_t freed = sl_get_acquire(&site->free_bytes);
        uint64_t live = sl_get(&site->alloc_bytes) - freed;
        if ((int8_t)(word >> 48) != device || word >> 56 != SL_DOMAIN_BLOCK || live == 0)
            continue;
        oom->site_cnt++;
        oom->site_bytes += live;
        insert_holder(
            oom, &(sl_fmt_holder){i, live, sl_get(&site->alloc_cnt) - sl_get(&site->free_cnt)});
    }
}

void sl_log_oom_add(sl_log *log, const sl_log_oom *from) {
    sl_fmt_oom oom = {.time_ns = sl__now(log),
                      .device_word = halves((uint32_t)from->device, from->stack),
                      .message = from->message,
                      .requested = from->requested,
                      .allocated = from->allocated,
                      .reserved = from->reserved,
                      .device_free = from->device_free,
                      .device_total = from->device_total};
    sl_log_event event = {.kind = SL_EV_OOM,
                          .device = (int8_t)from->device,
                          .stack = from->stack,
                          .addr = from->device_free == SL_LOG_UNKNOWN ? 0 : from->device_free,
                          .size = sl_clamp48(from->requested)};
    collect_holders(log, from->device, &oom);
    add_record(log, SL_SECTION_OOMS, &oom, SL_EV_OOM);
    sl__ring_append(log, &event, oom.time_ns, 0);
}

uint64_t sl_log_oom_count(const sl_log *log) {
    return sl_get_acquire(&log->wm[SL_SECTION_OOMS]->used);
}
