/* SPDX-License-Identifier: MIT */
/* Making, keeping and closing a log. What talks to the kernel about the file is in log_file.c. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "base/files/own_fd.h"
#include "log/write/log_writer_impl.h"
#include "stormlog/version.h"

/* ---- options ---- */

typedef struct u64_range {
    uint64_t fallback, min, max;
} u64_range;

static uint64_t pick(uint64_t wanted, u64_range range) {
    uint64_t n = wanted ? wanted : range.fallback;
    return n < range.min ? range.min : n > range.max ? range.max : n;
}

static uint64_t power_of_two_up(uint64_t n) {
    uint64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* The first level of the live table, a chunk and the bins of a curve are there as a whole or not at all, so a
 * log that starts small has smaller ones; the largest number of blocks stays the same. */
static void use_small_defaults(sl_log_options *o) {
    if (!o->starts_small)
        return;
    o->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : 16u << 10;
    o->live_cap = o->live_cap ? o->live_cap : 1u << 10;
    o->live_levels = o->live_levels ? o->live_levels : 12;
    o->curve_bins = o->curve_bins ? o->curve_bins : 64;
}

/* The caller's struct may be older (shorter) than ours: what it lacks is zero, the default. */
static sl_log_options known_options(const sl_log_options *from) {
    sl_log_options to = {0};
    size_t bytes = from->struct_size < sizeof to ? from->struct_size : sizeof to;
    memcpy(&to, from, bytes);
    use_small_defaults(&to);
    to.chunk_bytes =
        (uint32_t)power_of_two_up(pick(to.chunk_bytes, (u64_range){65536, 1024, 1 << 20}));
    to.ring_bytes =
        pick(to.ring_bytes, (u64_range){256u << 20, 2 * to.chunk_bytes, SL_LOG_RING_MAX});
    to.string_bytes = pick(to.string_bytes, (u64_range){32u << 20, 256, UINT64_C(1) << 34});
    to.frame_cap = pick(to.frame_cap, (u64_range){512u << 10, 4, 1u << 28});
    to.stack_cap = pick(to.stack_cap, (u64_range){2u << 20, 4, 1u << 30});
    to.site_cap = pick(to.site_cap, (u64_range){256u << 10, 2, 1u << 28});
    to.live_cap = power_of_two_up(pick(to.live_cap, (u64_range){8u << 10, 8, 1u << 28}));
    to.live_levels = (uint32_t)pick(to.live_levels, (u64_range){9, 1, SL_FORMAT_LIVE_LEVEL_MAX});
    to.thread_cap = (uint32_t)pick(to.thread_cap, (u64_range){4096, 1, 1u << 20});
    to.counter_cap = (uint32_t)pick(to.counter_cap, (u64_range){192, 1, 4096});
    to.curve_bins = (uint32_t)power_of_two_up(pick(to.curve_bins, (u64_range){512, 16, 65536}));
    to.mark_cap = pick(to.mark_cap, (u64_range){1u << 20, 1, 1u << 28});
    to.alert_cap = (uint32_t)pick(to.alert_cap, (u64_range){4096, 1, 1u << 20});
    to.oom_cap = (uint32_t)pick(to.oom_cap, (u64_range){64, 1, 1u << 16});
    return to;
}

/* ---- layout ---- */

static void add_section(sl_fmt_header *h, uint32_t kind, uint64_t cap, uint32_t level) {
    sl_fmt_section *s = &h->sections[h->section_cnt++];
    s->kind = kind;
    s->record_bytes = kind == SL_SECTION_RING ? h->chunk_bytes
                      : kind == SL_SECTION_CURVES
                          ? (uint32_t)sl_curve_bytes(h->curve_bins, h->curve_levels)
                          : sl_section_record_bytes(kind);
    s->offset = sl_align_up(h->file_bytes, SL_FORMAT_SECTION_ALIGN);
    s->cap = cap;
    s->level = level;
    h->file_bytes = s->offset + cap * s->record_bytes;
}

/* The ring comes last, so that closing can cut off what it never used. */
static void lay_out(sl_fmt_header *h, const sl_log_options *o) {
    h->chunk_bytes = o->chunk_bytes;
    h->curve_bins = o->curve_bins;
    h->curve_levels = SL_CURVE_LEVELS;
    h->curve_bin_ns = SL_CURVE_BIN_NS;
    h->file_bytes = SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES;
    add_section(h, SL_SECTION_THREADS, o->thread_cap, 0);
    add_section(h, SL_SECTION_COUNTERS, o->counter_cap, 0);
    add_section(h, SL_SECTION_LABELS, o->site_cap < SL_LABEL_CAP ? o->site_cap : SL_LABEL_CAP, 0);
    add_section(h, SL_SECTION_STRINGS, o->string_bytes / 8, 0);
    add_section(h, SL_SECTION_FRAMES, o->frame_cap, 0);
    add_section(h, SL_SECTION_STACKS, o->stack_cap, 0);
    add_section(h, SL_SECTION_SITES, o->site_cap, 0);
    add_section(h, SL_SECTION_CURVES, o->counter_cap, 0);
    add_section(h, SL_SECTION_MARKS, o->mark_cap, 0);
    add_section(h, SL_SECTION_ALERTS, o->alert_cap, 0);
    add_section(h, SL_SECTION_OOMS, o->oom_cap, 0);
    for (uint32_t level = 0; level < o->live_levels; level++)
        add_section(h, SL_SECTION_LIVE, (o->live_cap / SL_FORMAT_BUCKET_SLOTS) << level, level);
    add_section(h, SL_SECTION_RING, o->ring_bytes / o->chunk_bytes, 0);
    h->file_bytes = sl_align_up(h->file_bytes, 4096);
}

/* ---- identity ---- */

/* Cut texts end in an ellipsis, and never inside a character of UTF-8. */
static void put_text(char *to, size_t cap, const char *from, size_t len) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    if (len < cap) {
        memcpy(to, from, len);
        return;
    }
    len = cap - sizeof ellipsis;
    while (len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80)
        len--;
    memcpy(to, from, len);
    memcpy(to + len, ellipsis, sizeof ellipsis);
}

/* Up to cap bytes of a file of /proc; 0 when it cannot be read. */
static size_t read_proc(const char *path, char *to, size_t cap) {
    sl_own_fd own;
    if (!sl_own_fd_open(&own, path, O_RDONLY, 0))
        return 0;
    ssize_t got = sl_sys_pread(own.fd, to, cap, 0);
    sl_own_fd_close(&own);
    return got < 0 ? 0 : (size_t)got;
}

static void find_cmdline(sl_fmt_header *h) {
    char text[sizeof h->cmdline + 1];
    size_t len = read_proc("/proc/self/cmdline", text, sizeof text);
    for (size_t i = 0; i < len; i++)
        if (text[i] == 0)
            text[i] = ' ';
    while (len > 0 && text[len - 1] == ' ')
        len--;
    put_text(h->cmdline, sizeof h->cmdline, text, len);
}

static void put_or_find(char *to, size_t cap, const char *text, void (*find)(char *, size_t)) {
    if (text)
        put_text(to, cap, text, strlen(text));
    else
        find(to, cap - 1);
}

static void find_host(char *to, size_t cap) {
    if (gethostname(to, cap) < 0)
        to[0] = 0;
}

static void find_exe(char *to, size_t cap) {
    if (readlink("/proc/self/exe", to, cap) < 0)
        to[0] = 0;
}

static void find_cwd(char *to, size_t cap) {
    if (!getcwd(to, cap))
        memset(to, 0, cap);
}

static void find_nothing(char *to, size_t cap) {
    memset(to, 0, cap);
}

static void identify(sl_fmt_header *h, const sl_log_identity *id) {
    put_or_find(h->job, sizeof h->job, id->job, find_nothing);
    put_or_find(h->host, sizeof h->host, id->host, find_host);
    put_or_find(h->exe, sizeof h->exe, id->exe, find_exe);
    put_or_find(h->cwd, sizeof h->cwd, id->cwd, find_cwd);
    if (id->cmdline)
        put_text(h->cmdline, sizeof h->cmdline, id->cmdline, strlen(id->cmdline));
    else
        find_cmdline(h);
}

static void fill_header(sl_fmt_header *h, const sl_log_identity *identity) {
    sl_clock_pair start = sl_clock_read_pair();
    memcpy(h->magic, SL_FORMAT_MAGIC, SL_FORMAT_MAGIC_BYTES);
    h->version_major = h->oldest_major = SL_FORMAT_MAJOR; /* 1.0: what is newer is not used here */
    h->header_bytes = SL_FORMAT_HEADER_BYTES;
    h->state_offset = SL_FORMAT_HEADER_BYTES;
    h->start_mono_ns = start.mono_ns;
    h->start_wall_ns = start.wall_ns;
    h->start_gap_ns = start.gap_ns;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    memcpy(h->writer, "stormlog " SL_VERSION_STRING, sizeof "stormlog " SL_VERSION_STRING);
    identify(h, identity);
    h->header_crc = sl_header_crc(h);
}

/* ---- the object ---- */

static uint32_t index_slots(uint64_t records) {
    return (uint32_t)power_of_two_up(records < 8 ? 16 : 2 * records);
}

/* One anonymous mapping: the object and the indexes, touched only where used. */
static sl_log *new_object(const sl_log_options *o) {
    uint32_t slots[4] = {index_slots(o->string_bytes / 32), index_slots(o->frame_cap),
                         index_slots(o->stack_cap), index_slots(o->site_cap)};
    size_t head = sl_align_up(sizeof(sl_log), 4096), bytes = head;
    for (int i = 0; i < 4; i++)
        bytes += (size_t)slots[i] * sizeof(uint32_t);
    uint8_t *at =
        sl_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (at == MAP_FAILED)
        return NULL;
    sl_log *log = (sl_log *)(void *)at;
    sl_index *indexes[4] = {&log->strings, &log->frames, &log->stacks, &log->sites};
    at += head;
    for (int i = 0; i < 4; i++) {
        *indexes[i] = (sl_index){(uint32_t *)(void *)at, slots[i] - 1};
        at += (size_t)slots[i] * sizeof(uint32_t);
    }
    log->own_bytes = bytes;
    return log;
}

static void free_object(sl_log *log) {
    sl__file_unmap(&log->file);
    sl_sys_munmap(log, log->own_bytes);
}

static void point_into(sl_log *log) {
    const sl_fmt_header *h = log->header;
    uint8_t *map = log->file.map;
    log->state = (sl_fmt_state *)(void *)(map + SL_FORMAT_HEADER_BYTES);
    for (uint32_t i = h->section_cnt; i-- > 0;) {
        const sl_fmt_section *s = &h->sections[i];
        log->at[s->kind] = map + s->offset;
        log->wm[s->kind] = &log->marks[i];
        if (s->kind == SL_SECTION_SITES)
            log->site_cap = (uint32_t)s->cap;
        if (s->kind != SL_SECTION_LIVE)
            continue;
        log->live[s->level] =
            (sl_live_level){(sl_fmt_bucket *)(void *)(map + s->offset), s->cap - 1};
        log->live_levels += 1;
    }
    log->chunk_bytes = h->chunk_bytes;
    log->chunk_cap = sl_chunk_cap(h->chunk_bytes);
    log->curve_bins = h->curve_bins;
    log->start_mono_ns = h->start_mono_ns;
    log->pid = h->pid;
}

static sl_status reserve_first(sl_log *log, const sl_log_options *o, sl_error *err) {
    for (uint32_t i = 0; i < log->header->section_cnt; i++) {
        const sl_fmt_section *s = &log->header->sections[i];
        uint64_t first = sl__log_first_records(s, o->starts_small);
        SL_TRY(sl__log_reserve(log, i, o->reserve_all ? s->cap : first, err));
    }
    return SL_OK;
}

/* Number 0 of these means "none", so the first record is never given out. */
static void start_counting(sl_log *log) {
    static const sl_section_kind from_one[] = {SL_SECTION_STRINGS, SL_SECTION_FRAMES,
                                               SL_SECTION_STACKS, SL_SECTION_SITES};
    for (size_t i = 0; i < SL_COUNT_OF(from_one); i++)
        sl__mark_add(log, log->wm[from_one[i]], 1);
    sl__site(log, 0)->domain = SL_DOMAIN_OTHER;
    sl__site(log, 0)->device = -1;
    sl_set_release(&log->state->closing, SL_CLOSING_RUNNING);
}

/* The magic is part of the header, and the header is copied last: until then the file reads as
 * one whose writer was stopped before it began. */
static sl_status fill_file(sl_log *log, const sl_log_options *o, sl_fmt_header *h, sl_error *err) {
    static uint64_t epochs;
    static const sl_log_identity unknown = {.rank = -1, .local_rank = -1, .world_size = -1};
    const sl_log_identity *identity = o->identity ? o->identity : &unknown;
    fill_header(h, identity);
    point_into(log);
    log->is_small = o->starts_small;
    sl_status status = reserve_first(log, o, err);
    if (status < 0)
        return sl_error_prefix(err, "cannot create '%s'", o->path);
    log->epoch = __atomic_add_fetch(&epochs, 1, __ATOMIC_RELAXED);
    sl_log_set_rank(log, identity->rank, identity->local_rank, identity->world_size);
    start_counting(log);
    memcpy(log->file.map, h, sizeof *h);
    return SL_OK;
}

static sl_status make_file(sl_log *log, const sl_log_options *o, sl_error *err) {
    sl_fmt_header *h = (sl_fmt_header *)(void *)log->own_header;
    lay_out(h, o);
    log->header = h;
    sl_log_file_wish wish = {
        .path = o->path,
        .bytes = h->file_bytes,
        .mode = o->is_shared ? 0644 : 0600,
        .overwrite = o->overwrite,
    };
    SL_TRY(sl__file_create(&log->file, &wish, SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES, err));
    sl_status status = fill_file(log, o, h, err);
    if (status < 0)
        sl__file_unlink(&log->file);
    return status;
}

sl_status sl_log_create(const sl_log_options *options, sl_log **out, sl_error *err) {
    sl_log_options o = known_options(options);
    if (!o.path || !o.path[0])
        return sl_fail(err, SL_E_USAGE, "a log needs a path");
    sl_log *log = new_object(&o);
    if (!log)
        return sl_fail_errno(err, SL_E_NOMEM, "cannot map memory for the log");
    sl_status status = make_file(log, &o, err);
    if (status < 0) {
        free_object(log);
        return status;
    }
    *out = log;
    return SL_OK;
}

void sl_log_set_rank(sl_log *log, int32_t rank, int32_t local_rank, int32_t world_size) {
    sl_set(&log->state->rank_word, (uint32_t)rank | (uint64_t)(uint32_t)local_rank << 32);
    sl_set(&log->state->world_word, (uint64_t)(int64_t)world_size);
}

void sl_log_note_exit(sl_log *log, int status, bool is_at_once) {
    sl_set_release(&log->state->heartbeat_ns, sl__now(log));
    sl_set_release(&log->state->left_word, (is_at_once ? SL_LEFT_AT_ONCE : SL_LEFT_BY_EXIT) |
                                               (uint64_t)(status & 0xff) << 8);
}

/* ---- later ---- */

/* Asking whether threads still live costs a system call each. */
#define SWEEP_NS UINT64_C(500000000)

void sl_log_maintain(sl_log *log) {
    uint64_t now_ns = sl__now(log);
    sl__log_grow(log, now_ns);
    sl__curve_roll(log, now_ns);
    if (log->swept_ns == 0 || now_ns - log->swept_ns >= SWEEP_NS) {
        log->swept_ns = now_ns;
        sl__ring_sweep(log);
    }
    sl_set_release(&log->state->heartbeat_ns, now_ns);
}

/* Cuts off ring space that never had its place on disk; the end of the file is then the end of
 * what was reserved (L1). */
static void trim(sl_log *log) {
    const sl_fmt_section *last = &log->header->sections[log->header->section_cnt - 1];
    uint64_t reserved = sl_get(&log->wm[SL_SECTION_RING]->reserved);
    uint64_t end = last->offset + reserved * last->record_bytes;
    sl__file_trim(&log->file, end);
}

/* Records that hold something, whatever their number means otherwise. */
static uint64_t records_in_use(const sl_log *log, uint32_t section) {
    const sl_fmt_section *s = &log->header->sections[section];
    if (s->kind == SL_SECTION_LABELS)
        return s->cap;
    if (s->kind == SL_SECTION_LIVE)
        return s->level <= sl_get(&log->live_top) ? s->cap : 0;
    return sl_get(&log->marks[section].used); /* of a ring that never wrapped: chunks */
}

/* Gives back what was reserved ahead of its use: most of a short program's file. */
static void release_unused(sl_log *log) {
    for (uint32_t i = 0; i < log->header->section_cnt; i++) {
        const sl_fmt_section *s = &log->header->sections[i];
        uint64_t used = records_in_use(log, i), reserved = sl_get(&log->marks[i].reserved);
        if (used < reserved)
            sl__file_release(&log->file, s->offset + used * s->record_bytes,
                             (reserved - used) * s->record_bytes);
    }
}

void sl_log_finish(sl_log *log) {
    uint64_t now_ns = sl__now(log);
    sl__curve_roll(log, now_ns);
    sl_set_release(&log->state->heartbeat_ns, now_ns);
    sl_set_release(&log->state->closed_ns, now_ns);
    sl_set_release(&log->state->closing, SL_CLOSING_CLOSED);
    release_unused(log);
    trim(log);
}

void sl_log_free(sl_log *log) {
    free_object(log);
}

void sl_log_close(sl_log *log) {
    if (!log)
        return;
    sl_log_finish(log);
    sl_log_free(log);
}

void sl_log_after_fork_child(sl_log *log, bool is_in_use) {
    if (!log)
        return;
    sl__file_after_fork_child(&log->file, is_in_use);
    if (!is_in_use)
        sl_sys_munmap(log, log->own_bytes);
}

void sl_log_get_range(const sl_log *log, void **from, size_t *bytes) {
    *from = log->file.map;
    *bytes = log->file.map_bytes;
}
