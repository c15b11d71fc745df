/* SPDX-License-Identifier: MIT */
#include "base/core/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#define PAIR_TRIES 8

sl_clock_pair sl_clock_read_pair(void) {
    sl_clock_pair best = {0, 0, UINT64_MAX};
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = sl_clock_mono_ns();
        uint64_t wall = sl_clock_ns(CLOCK_REALTIME);
        uint64_t gap = sl_clock_mono_ns() - before;
        if (gap < best.gap_ns)
            best = (sl_clock_pair){before + gap / 2, wall, gap};
    }
    return best;
}

void sl_clock_pause_us(unsigned us) {
    struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    (void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}
