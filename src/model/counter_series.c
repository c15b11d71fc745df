/* SPDX-License-Identifier: MIT */
#include "model/counter_series.h"

#include "base/core/str.h"

const sl_counter_series *sl_series_find(const sl_trace *trace, int device, const char *name) {
    for (size_t i = 0; i < trace->counters.cnt; i++) {
        const sl_counter_series *series = &trace->counters.at[i];
        sl_str own = sl_strtab_get(&trace->strings, series->name);
        if (series->device == device && sl_str_is(own, name))
            return series;
    }
    return NULL;
}

sl_str sl_series_library(const sl_trace *trace, const sl_counter_series *series) {
    const size_t head = sizeof SL_SERIES_LIBRARY - 1;
    sl_str name = sl_strtab_get(&trace->strings, series->name);
    if (name.len <= head || !sl_str_starts_with(name, SL_STR(SL_SERIES_LIBRARY)))
        return SL_STR("");
    return (sl_str){name.ptr + head, name.len - head};
}

size_t sl_series_find_reading(const sl_counter_series *series, int64_t time_us) {
    size_t low = 0, high = series->readings.cnt;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (series->readings.at[mid].from_us <= time_us)
            low = mid + 1;
        else
            high = mid;
    }
    return low - 1; /* SIZE_MAX when all are later */
}

/* Within a reading only its last value has a moment: its end. Until then the value before holds. */
sl_maybe_u64 sl_series_at(const sl_counter_series *series, int64_t time_us) {
    size_t i = series ? sl_series_find_reading(series, time_us) : SIZE_MAX;
    if (i == SIZE_MAX)
        return (sl_maybe_u64){0};
    const sl_reading *reading = &series->readings.at[i];
    if (time_us < reading->to_us && i > 0)
        reading--;
    return sl_known_u64(reading->last);
}

sl_maybe_u64 sl_series_last(const sl_counter_series *series) {
    if (!series || series->readings.cnt == 0 || series->why)
        return (sl_maybe_u64){0};
    return sl_known_u64(series->readings.at[series->readings.cnt - 1].last);
}

bool sl_series_range(const sl_counter_series *series, int64_t from_us, int64_t to_us, uint64_t *low,
                     uint64_t *high) {
    if (!series)
        return false;
    size_t i = sl_series_find_reading(series, from_us);
    bool is_known = false;
    if (i == SIZE_MAX)
        i = 0;
    else if (i > 0 && series->readings.at[i].to_us >= from_us)
        i--; /* its last value held when this reading began */
    for (; i < series->readings.cnt && series->readings.at[i].from_us <= to_us; i++) {
        const sl_reading *r = &series->readings.at[i];
        bool is_over = r->to_us < from_us; /* what it met on its way no longer counts */
        uint64_t least = is_over ? r->last : r->min, most = is_over ? r->last : r->max;
        *low = !is_known || least < *low ? least : *low;
        *high = !is_known || most > *high ? most : *high;
        is_known = true;
    }
    return is_known;
}

bool sl_library_serves_allocator(sl_str library) {
    return sl_str_is(library, "libcudart") || sl_str_is(library, "libc10_cuda");
}
