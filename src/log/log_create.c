/* SPDX-License-Identifier: MIT */
/* Making, keeping and closing a log: everything that talks to the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "log/log_writer_impl.h"
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

/* The caller's struct may be older (shorter) than ours: what it lacks is zero, the default. */
static sl_log_options known_options(const sl_log_options *from) {
    sl_log_options to = {0};
    size_t bytes = from->struct_size < sizeof to ? from->struct_size : sizeof to;
    memcpy(&to, from, bytes);
    to.chunk_bytes =
        (uint32_t)power_of_two_up(pick(to.chunk_bytes, (u64_range){65536, 1024, 1 << 20}));
    to.ring_bytes =
        pick(to.ring_bytes, (u64_range){256u << 20, 2 * to.chunk_bytes, UINT64_C(1) << 40});
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
    int fd = sl_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return 0;
    ssize_t got = sl_sys_pread(fd, to, cap, 0);
    sl_sys_close(fd);
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
    h->version_major = h->oldest_major = SL_FORMAT_MAJOR;
    h->version_minor = h->oldest_minor = SL_FORMAT_MINOR;
    h->header_bytes = SL_FORMAT_HEADER_BYTES;
    h->state_offset = SL_FORMAT_HEADER_BYTES;
    h->start_mono_ns = start.mono_ns;
    h->start_wall_ns = start.wall_ns;
    h->start_gap_ns = start.gap_ns;
    h->pid = (uint32_t)getpid();
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
    log->fd = -1;
    return log;
}

static void free_object(sl_log *log) {
    if (log->map)
        sl_sys_munmap(log->map, log->map_bytes);
    if (log->fd >= 0)
        sl_sys_close(log->fd);
    sl_sys_munmap(log, log->own_bytes);
}

/* ---- the file ---- */

static sl_status lock_file(int fd, const char *path, sl_error *err) {
    if (sl_sys_lock(fd) == 0)
        return SL_OK;
    if (errno != EAGAIN)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot lock '%s'", path);
    static sl_fmt_header h; /* a page is too much for the target's stack; control is one thread */
    bool is_known = sl_sys_pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
                    memcmp(h.magic, SL_FORMAT_MAGIC, SL_FORMAT_MAGIC_BYTES) == 0;
    if (is_known)
        return sl_fail(err, SL_E_BUSY, "cannot write '%s': process %u already writes it", path,
                       h.pid);
    return sl_fail(err, SL_E_BUSY, "cannot write '%s': another process already writes it", path);
}

/* A file that existed is only reused when it is empty or the caller said so, and nobody has it. */
static sl_status claim_file(sl_log *log, const sl_log_options *o, sl_error *err) {
    struct stat st;
    if (sl_sys_fstat(log->fd, &st) < 0)
        return sl_fail_errno(err, SL_E_OPEN, "cannot examine '%s'", o->path);
    if (!S_ISREG(st.st_mode))
        return sl_fail(err, SL_E_OPEN, "cannot write '%s': not a regular file", o->path);
    if (st.st_size > 0 && !o->overwrite)
        return sl_fail(err, SL_E_OPEN,
                       "cannot create '%s': it exists (%lld bytes); choose another name", o->path,
                       (long long)st.st_size);
    if (st.st_size > 0 && sl_sys_ftruncate(log->fd, 0) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot empty '%s'", o->path);
    return SL_OK;
}

static sl_status open_file(sl_log *log, const char *path, bool *is_new, sl_error *err) {
    *is_new = true;
    log->fd = sl_sys_open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
    if (log->fd < 0 && errno == EEXIST) {
        *is_new = false;
        log->fd = sl_sys_open(path, O_RDWR, 0);
    }
    if (log->fd < 0)
        return sl_fail_errno(err, SL_E_OPEN, "cannot create '%s'", path);
    return SL_OK;
}

/* `ulimit -f` is asked before, because going beyond it is answered with SIGXFSZ. */
static sl_status size_file(const sl_log *log, const char *path, uint64_t bytes, sl_error *err) {
    struct rlimit limit;
    if (sl_sys_getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot read the file size limit");
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        return sl_fail(err, SL_E_NOSPACE,
                       "cannot create '%s': it may grow to %llu bytes, the limit of this process "
                       "(ulimit -f) is %llu; raise it or ask for a smaller ring",
                       path, (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    if (sl_sys_ftruncate(log->fd, bytes) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot size '%s' to %llu bytes", path,
                             (unsigned long long)bytes);
    return SL_OK;
}

/* Header and state have their space before they are touched through the mapping. */
static sl_status map_file(sl_log *log, const char *path, uint64_t bytes, sl_error *err) {
    static const uint8_t zeros[SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES];
    ssize_t put = sl_sys_pwrite(log->fd, zeros, sizeof zeros, 0);
    if (put >= 0 && put != (ssize_t)sizeof zeros)
        errno = ENOSPC;
    if (put != (ssize_t)sizeof zeros)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
    log->map = sl_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log->fd);
    if (log->map == MAP_FAILED) {
        log->map = NULL;
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot map %llu bytes of '%s'",
                             (unsigned long long)bytes, path);
    }
    log->map_bytes = bytes;
    return SL_OK;
}

static void point_into(sl_log *log) {
    sl_fmt_header *h = log->header;
    for (uint32_t i = h->section_cnt; i-- > 0;) {
        const sl_fmt_section *s = &h->sections[i];
        log->at[s->kind] = log->map + s->offset;
        log->wm[s->kind] = &log->state->marks[i];
        if (s->kind != SL_SECTION_LIVE)
            continue;
        log->live[s->level] =
            (sl_live_level){(sl_fmt_bucket *)(void *)(log->map + s->offset), s->cap - 1};
        log->live_levels += 1;
    }
    log->chunk_bytes = h->chunk_bytes;
    log->chunk_cap = sl_chunk_cap(h->chunk_bytes);
    log->curve_bins = h->curve_bins;
    log->start_mono_ns = h->start_mono_ns;
    log->pid = h->pid;
}

static sl_status reserve_first(sl_log *log, bool everything, sl_error *err) {
    for (uint32_t i = 0; i < log->header->section_cnt; i++) {
        const sl_fmt_section *s = &log->header->sections[i];
        SL_TRY(sl__log_reserve(log, i, everything ? s->cap : sl__log_first_records(s), err));
    }
    return SL_OK;
}

/* Number 0 of these means "none", so the first record is never given out. */
static void start_counting(sl_log *log) {
    static const sl_section_kind from_one[] = {SL_SECTION_STRINGS, SL_SECTION_FRAMES,
                                               SL_SECTION_STACKS, SL_SECTION_SITES};
    for (size_t i = 0; i < SL_COUNT_OF(from_one); i++)
        sl_set(&log->wm[from_one[i]]->used, 1);
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
    log->header = h;
    log->state = (sl_fmt_state *)(void *)(log->map + SL_FORMAT_HEADER_BYTES);
    fill_header(h, identity);
    point_into(log);
    sl_status status = reserve_first(log, o->reserve_all, err);
    if (status < 0)
        return sl_error_prefix(err, "cannot create '%s'", o->path);
    log->epoch = __atomic_add_fetch(&epochs, 1, __ATOMIC_RELAXED);
    sl_log_set_rank(log, identity->rank, identity->local_rank, identity->world_size);
    start_counting(log);
    log->header = (sl_fmt_header *)(void *)log->map;
    memcpy(log->header, h, sizeof *h);
    return SL_OK;
}

static sl_status make_file(sl_log *log, const sl_log_options *o, bool *is_ours, sl_error *err) {
    sl_fmt_header *h = (sl_fmt_header *)(void *)log->own_header;
    bool is_new;
    SL_TRY(open_file(log, o->path, &is_new, err));
    sl_status status = lock_file(log->fd, o->path, err);
    *is_ours = is_new && status != SL_E_BUSY; /* somebody may have been quicker to lock it */
    SL_TRY(status);
    SL_TRY(claim_file(log, o, err));
    *is_ours = true; /* emptied by us: nothing of value is left to keep */
    lay_out(h, o);
    SL_TRY(size_file(log, o->path, h->file_bytes, err));
    SL_TRY(map_file(log, o->path, h->file_bytes, err));
    return fill_file(log, o, h, err);
}

sl_status sl_log_create(const sl_log_options *options, sl_log **out, sl_error *err) {
    sl_log_options o = known_options(options);
    if (!o.path || !o.path[0])
        return sl_fail(err, SL_E_USAGE, "a log needs a path");
    sl_log *log = new_object(&o);
    if (!log)
        return sl_fail_errno(err, SL_E_NOMEM, "cannot map memory for the log");
    bool is_ours = false;
    sl_status status = make_file(log, &o, &is_ours, err);
    if (status < 0) {
        if (is_ours && log->fd >= 0)
            sl_sys_unlink(o.path);
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
    (void)sl_sys_ftruncate(log->fd, end);
}

void sl_log_close(sl_log *log) {
    if (!log)
        return;
    uint64_t now_ns = sl__now(log);
    sl__curve_roll(log, now_ns);
    sl_set_release(&log->state->heartbeat_ns, now_ns);
    sl_set_release(&log->state->closed_ns, now_ns);
    sl_set_release(&log->state->closing, SL_CLOSING_CLOSED);
    trim(log);
    free_object(log);
}

void sl_log_after_fork_child(sl_log *log) {
    if (log)
        free_object(log);
}
