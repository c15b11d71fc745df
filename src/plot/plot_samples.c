/* SPDX-License-Identifier: MIT */
#include "plot/plot_samples.h"

#include <stdlib.h>

#include "base/core/order.h"
#include "telemetry/telemetry.h"

static int compare_times(const void *a, const void *b) {
    const sl_sample *x = a, *y = b;
    return x->time_us < y->time_us ? -1 : x->time_us > y->time_us;
}

/* The three figures are read one after the other, so `reserved` may come out below `allocated`,
 * or `used` below `reserved`. They are stacked, so they are raised to keep the order. */
static sl_sample sample_of(const sl_tm_record *record) {
    sl_sample sample = {.time_us = record->timestamp_ns / 1000,
                        .allocated = (uint64_t)record->allocated_bytes};
    sample.reserved = sl_max_u64((uint64_t)record->reserved_bytes, sample.allocated);
    sample.used = sl_max_u64((uint64_t)record->used_bytes, sample.reserved);
    if (record->total_bytes != SL_TM_NULL)
        sample.total = sl_known_u64((uint64_t)record->total_bytes);
    return sample;
}

bool sl_samples_collect(sl_samples *samples, const sl_plot_input *input) {
    const sl_telemetry *set = input->trace->telemetry;
    *samples = (sl_samples){0};
    for (size_t i = 0; set && i < set->records.cnt; i++)
        if (sl_run_has_sample(input->device, &set->records.at[i]) &&
            !sl_vec_push(samples, sample_of(&set->records.at[i])))
            return false;
    if (samples->cnt > 1)
        qsort(samples->at, samples->cnt, sizeof *samples->at, compare_times);
    return true;
}

double sl_samples_span(const sl_samples *samples) {
    return samples->cnt ? (double)(samples->at[samples->cnt - 1].time_us - samples->at[0].time_us)
                        : 0;
}

void sl_samples_bin(const sl_samples *samples, double span_us, sl_sample *columns, size_t cnt) {
    size_t current = 0;
    columns[0] = samples->at[0];
    for (size_t i = 1; i < samples->cnt; i++) {
        double share = (double)(samples->at[i].time_us - samples->at[0].time_us) / span_us;
        size_t column = share < 1 ? (size_t)(share * (double)cnt) : cnt - 1;
        while (current < column) {
            current++;
            columns[current] = samples->at[current == column ? i : i - 1];
        }
        if (samples->at[i].used > columns[current].used)
            columns[current] = samples->at[i];
    }
    for (; current + 1 < cnt; current++)
        columns[current + 1] = samples->at[samples->cnt - 1];
}
