/* SPDX-License-Identifier: MIT */
/* Bytes, durations, counts and percentages as people write them, and back. No locale. */
#ifndef SL_HUMAN_H
#define SL_HUMAN_H

#include "base/core/status.h"

/* Large enough for every text made here. */
#define SL_HUMAN_CAP 32

/* "512 B", "19.1 MiB", "1.50 GiB": three significant digits, binary units. Returns buf. */
char *sl_human_bytes(char buf[SL_HUMAN_CAP], uint64_t bytes);

/* The same with a sign: "+1.5 MiB", "-20 KiB", "0 B". */
char *sl_human_bytes_delta(char buf[SL_HUMAN_CAP], int64_t bytes);

/* "850 us", "1.25 s", "3 min 20 s", "7 h 02 min", "6 d 4 h". */
char *sl_human_duration_us(char buf[SL_HUMAN_CAP], int64_t us);

/* "1,234,567". */
char *sl_human_count(char buf[SL_HUMAN_CAP], uint64_t count);

/* The "s" of "2 steps". */
static inline const char *sl_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* "once", "12 times". Returns buf. */
char *sl_human_times(char buf[SL_HUMAN_CAP], uint64_t count);

/* The axis of a chart: the step between two ticks, round in the unit that their texts have, so that no text is "1.953 GiB"; at most
 * `most` steps up to top. */
double sl_human_tick_step(double top_bytes, double most);

/* "512 MiB", "1.5 GiB": a tick, without the digits of a measurement. Returns buf. */
const char *sl_human_tick(char buf[SL_HUMAN_CAP], double bytes);

/* "256MiB", "1.5 GB", "4096", "20k": binary for KiB/MiB/GiB/TiB and for single letters, decimal
 * for KB/MB/GB/TB. */
sl_status sl_human_parse_bytes(const char *text, uint64_t *bytes, sl_error *err);

#endif
