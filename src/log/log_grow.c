/* SPDX-License-Identifier: MIT */
/* Space for the sections. Everything an event may touch is reserved on disk first, so that a full
 * disk is an answer to a question asked here and never a SIGBUS in somebody's program (L1). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "log/log_writer_impl.h"

/* A section starts with this many bytes and doubles, by at most GROW_MAX_BYTES at a time. */
#define FIRST_BYTES       (256u << 10)
#define GROW_MAX_BYTES    (16u << 20)
/* 8 MiB hold a quarter of a million events: seconds of the busiest program until maintain runs. */
#define FIRST_RING_BYTES  (8u << 20)
/* A program's first step brings most of its stacks and sites at once, and on a busy machine maintain may
 * come a tenth of a second late. */
#define FIRST_STACK_BYTES (1u << 20)
/* Curves that are kept in hand: a device brings ten counters at once, and the host has its own. A
 * counter that finds no room loses the readings until the next maintain. */
#define CURVES_AHEAD      16
/* The first levels of the live table are there from the start (248 Ki blocks). Beyond them, a level
 * being used asks for the next one. */
#define FIRST_LEVELS      5
#define LEVELS_AHEAD      2
/* A section that found no space asks again after this time. */
#define RETRY_NS          UINT64_C(5000000000)

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t sl__log_first_records(const sl_fmt_section *s) {
    switch (s->kind) {
    case SL_SECTION_LIVE: return s->level < FIRST_LEVELS ? s->cap : 0;
    case SL_SECTION_RING: return min_u64(s->cap, FIRST_RING_BYTES / s->record_bytes);
    case SL_SECTION_STACKS:
    case SL_SECTION_SITES: return min_u64(s->cap, FIRST_STACK_BYTES / s->record_bytes);
    case SL_SECTION_CURVES: return min_u64(s->cap, CURVES_AHEAD);
    default: return min_u64(s->cap, FIRST_BYTES / s->record_bytes);
    }
}

/* `ulimit -f` is asked here, because the kernel would answer with a signal that ends the target. */
static int within_limit(uint64_t end) {
    struct rlimit limit;
    if (sl_sys_getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return -1;
    if (limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur)
        return 0;
    errno = EFBIG;
    return -1;
}

/* For file systems without fallocate. The range is not in use yet, so zeros destroy nothing. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes) {
    static const uint8_t zeros[4096];
    while (bytes > 0) {
        ssize_t put = sl_sys_pwrite(fd, zeros, min_u64(bytes, sizeof zeros), offset);
        if (put < 0)
            return -1;
        if (put == 0) {
            errno = ENOSPC;
            return -1;
        }
        offset += (uint64_t)put;
        bytes -= (uint64_t)put;
    }
    return 0;
}

static int allocate(int fd, uint64_t offset, uint64_t bytes) {
    if (within_limit(offset + bytes) < 0)
        return -1;
    if (sl_sys_fallocate(fd, offset, bytes) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    return write_zeros(fd, offset, bytes);
}

/* Takes the page faults here instead of on the event path. A kernel before 5.14 does not know the
 * advice; then the first event on each page pays. */
static void prefault(sl_log *log, uint64_t offset, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
    uint64_t from = offset & ~UINT64_C(4095);
    if (from < log->map_bytes)
        (void)sl_sys_madvise(log->map + from, min_u64(offset + bytes, log->map_bytes) - from,
                             MADV_POPULATE_WRITE);
#else
    SL_UNUSED(log), SL_UNUSED(offset), SL_UNUSED(bytes);
#endif
}

sl_status sl__log_reserve(sl_log *log, uint32_t section, uint64_t records, sl_error *err) {
    const sl_fmt_section *s = &log->header->sections[section];
    sl_fmt_watermark *wm = &log->state->marks[section];
    uint64_t have = sl_get(&wm->reserved);
    if (records <= have)
        return SL_OK;
    uint64_t offset = s->offset + have * s->record_bytes;
    uint64_t bytes = (records - have) * s->record_bytes;
    if (allocate(log->fd, offset, bytes) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot reserve %llu bytes for section %s",
                             (unsigned long long)bytes, sl_section_name(s->kind));
    prefault(log, offset, bytes);
    sl_set_release(&wm->reserved, records);
    return SL_OK;
}

/* How many records this section should have by now. */
static uint64_t wanted_records(const sl_log *log, uint32_t section) {
    const sl_fmt_section *s = &log->header->sections[section];
    const sl_fmt_watermark *wm = &log->state->marks[section];
    uint64_t have = sl_get(&wm->reserved);
    if (s->kind == SL_SECTION_LIVE)
        return s->level < sl_get(&log->live_top) + LEVELS_AHEAD ? s->cap : have;
    if (s->kind == SL_SECTION_CURVES)
        return min_u64(s->cap, sl_get(&wm->used) + CURVES_AHEAD);
    uint64_t step_max = GROW_MAX_BYTES / s->record_bytes + 1;
    uint64_t low = min_u64((have + 1) / 2, step_max / 2 + 1);
    if (have >= s->cap || sl_get(&wm->used) + low <= have)
        return have;
    return min_u64(s->cap, have + min_u64(have + 1, step_max));
}

void sl__log_grow(sl_log *log, uint64_t now_ns) {
    for (uint32_t i = 0; i < log->header->section_cnt; i++) {
        uint64_t wanted = wanted_records(log, i);
        if (wanted <= sl_get(&log->state->marks[i].reserved))
            continue;
        if ((log->stuck_sections >> i & 1) && now_ns - log->stuck_ns[i] < RETRY_NS)
            continue;
        log->stuck_sections &= ~(1u << i);
        if (sl__log_reserve(log, i, wanted, NULL) < 0) {
            sl__health(log, SL_HEALTH_EXTEND_FAILED);
            log->stuck_sections |= 1u << i;
            log->stuck_ns[i] = now_ns;
        }
    }
}

uint64_t sl__log_take(sl_log *log, sl_section_kind kind, uint64_t n, sl_health_kind lost) {
    sl_fmt_watermark *wm = log->wm[kind];
    uint64_t used = sl_get(&wm->used);
    do {
        if (used + n > sl_get_acquire(&wm->reserved)) {
            sl__health(log, lost);
            return UINT64_MAX;
        }
    } while (!sl_swap(&wm->used, &used, used + n));
    return used;
}
