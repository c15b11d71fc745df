/* SPDX-License-Identifier: MIT */
#include "memprof/watch/watch.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/order.h"
#include "memprof/compat_cli.h"
#include "memprof/watch/watch_child.h"

#define BUFFER_DEFAULT 10000
/* An alert is repeated only after the value fell this far below its threshold. */
#define REARM_POINTS   5.0
#define LARGE_STEP     (INT64_C(100) << 20)
/* Another large step is reported after this time, or when it is twice as large. */
#define STEP_QUIET_NS  INT64_C(10000000000)
/* From this number of texts on, those of dropped records are freed. */
#define TEXTS_MAX      100000
#define CHILD_GRACE_NS INT64_C(5000000000)

static volatile sig_atomic_t was_interrupted;

static void on_signal(int number) {
    if (number != SIGCHLD)
        was_interrupted = 1;
}

static void set_handlers(struct sigaction old[3], bool is_on) {
    static const int signals[] = {SIGINT, SIGTERM, SIGCHLD};
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SL_COUNT_OF(signals); i++)
        sigaction(signals[i], is_on ? &action : &old[i], is_on ? &old[i] : NULL);
}

/* ---- figures ---- */

typedef struct figures {
    int64_t allocated, used, free, total;
    int device;
} figures;

static const char *collector_of(const sl_watch *watch) {
    if (watch->options.collector)
        return watch->options.collector;
    return watch->counters ? "stormlog.cuda_tracker" : "stormlog.cpu_tracker";
}

static void read_card(sl_watch *watch, figures *f) {
    sl_device_sample sample;
    int device = watch->options.device < 0 ? 0 : watch->options.device;
    f->device = device;
    watch->counters->set_own(watch->tree->pids, watch->tree->cnt);
    if (watch->counters->read(device, &sample, NULL) < 0)
        return;
    f->used = sample.used_bytes.known ? (int64_t)sample.used_bytes.value : 0;
    f->total = sample.total_bytes.known ? (int64_t)sample.total_bytes.value : SL_TM_NULL;
    /* If the driver does not report memory per process, the card's figure is used. */
    f->allocated = sample.process_bytes.known ? (int64_t)sample.process_bytes.value : f->used;
    if (f->total != SL_TM_NULL && f->used > f->total)
        f->used = f->total;
    f->free = f->total != SL_TM_NULL ? f->total - f->used : SL_TM_NULL;
}

static figures read_figures(sl_watch *watch) {
    figures f = {.free = SL_TM_NULL, .total = SL_TM_NULL, .device = -1};
    sl_proc_tree_read(watch->pid, watch->tree);
    if (watch->counters) {
        read_card(watch, &f);
    } else {
        f.allocated = f.used = (int64_t)watch->tree->rss_bytes;
    }
    if (f.total != SL_TM_NULL)
        watch->total_bytes = f.total;
    return f;
}

static int64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- records ---- */

static uint32_t move_text(const sl_telemetry *from, sl_telemetry *to, uint32_t id) {
    if (id == SL_TM_NO_TEXT)
        return id;
    sl_str text = sl_tm_text(from, id);
    return sl_strtab_intern(&to->strings, text.ptr, text.len);
}

/* Frees the texts of records that left the ring. Texts such as "Memory allocated: 1.25 MB"
 * differ from tick to tick and would otherwise accumulate. */
static void compact(sl_watch *watch) {
    sl_telemetry *fresh = sl_telemetry_new();
    if (!fresh)
        return;
    for (size_t i = 0; i < watch->kept->records.cnt; i++) {
        sl_tm_record r = watch->kept->records.at[i];
        r.event_type = move_text(watch->kept, fresh, r.event_type);
        r.collector = move_text(watch->kept, fresh, r.collector);
        r.host = move_text(watch->kept, fresh, r.host);
        r.job_id = move_text(watch->kept, fresh, r.job_id);
        r.context = move_text(watch->kept, fresh, r.context);
        r.metadata = move_text(watch->kept, fresh, r.metadata);
        if (!sl_vec_push(&fresh->records, r)) {
            sl_telemetry_free(fresh);
            return;
        }
    }
    sl_telemetry_free(watch->kept);
    watch->kept = fresh;
}

static bool keep(sl_watch *watch, const sl_tm_record *record) {
    if (watch->kept->records.cnt < watch->kept_cap)
        return sl_vec_push(&watch->kept->records, *record);
    watch->kept->records.at[watch->kept_next] = *record;
    watch->kept_next = (watch->kept_next + 1) % watch->kept_cap;
    return true;
}

/* The metadata of every record of a card: where it comes from, as in the Python tool's records. */
static const char *card_metadata(const sl_watch *watch, char *buf, size_t cap, const char *own) {
    if (!watch->counters)
        return own;
    bool has_own = own && strcmp(own, "{}") != 0;
    snprintf(buf, cap,
             "{%.*s%s\"backend\":\"cuda\",\"supports_device_total\":true,"
             "\"supports_device_free\":true,\"sampling_source\":\"nvml\"}",
             has_own ? (int)strlen(own) - 2 : 0, has_own ? own + 1 : "", has_own ? "," : "");
    return buf;
}

typedef struct happening {
    const char *type;
    int64_t change;
    const char *context;
    const char *metadata;
} happening;

static sl_status emit(sl_watch *watch, const figures *f, const happening *h) {
    char host[256] = SL_TM_UNKNOWN_HOST, metadata[512];
    const sl_identity *id = &watch->options.identity;
    sl_telemetry *set = watch->kept;
    const char *meta = card_metadata(watch, metadata, sizeof metadata, h->metadata);
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        snprintf(host, sizeof host, SL_TM_UNKNOWN_HOST);
    sl_tm_record r = {.timestamp_ns = wall_ns(),
                      .sampling_interval_ms = (int64_t)llround(watch->options.interval_s * 1000),
                      .allocated_bytes = f->allocated,
                      .reserved_bytes = f->allocated,
                      .active_bytes = SL_TM_NULL,
                      .inactive_bytes = SL_TM_NULL,
                      .change_bytes = h->change,
                      .used_bytes = f->used,
                      .free_bytes = f->free,
                      .total_bytes = f->total,
                      .pid = watch->pid,
                      .rank = id->rank,
                      .local_rank = id->local_rank,
                      .world_size = id->world_size,
                      .device_id = f->device};
    SL_TRY(sl_tm_intern(set, h->type, &r.event_type, NULL));
    SL_TRY(sl_tm_intern(set, collector_of(watch), &r.collector, NULL));
    SL_TRY(sl_tm_intern(set, host, &r.host, NULL));
    SL_TRY(sl_tm_intern(set, id->job_id[0] ? id->job_id : NULL, &r.job_id, NULL));
    SL_TRY(sl_tm_intern(set, h->context, &r.context, NULL));
    if (meta && strcmp(meta, "{}") != 0)
        SL_TRY(sl_tm_intern(set, meta, &r.metadata, NULL));
    if (!keep(watch, &r))
        return SL_E_NOMEM;
    watch->record_cnt++;
    if (watch->options.on_record)
        watch->options.on_record(watch->options.ctx, set, &r);
    if (watch->kept->strings.strings.cnt > TEXTS_MAX + watch->kept_cap * 2)
        compact(watch);
    return SL_OK;
}

/* After the process ended, records have its last figures. */
sl_status sl_watch_record(sl_watch *watch, const char *event_type, int64_t change,
                          const char *context, const char *metadata) {
    figures f = {watch->current_bytes, watch->last_used, watch->last_free, watch->total_bytes,
                 watch->last_device};
    if (!watch->counters)
        f.total = SL_TM_NULL;
    if (watch->tree->is_alive)
        f = read_figures(watch);
    return emit(watch, &f, &(happening){event_type, change, context, metadata});
}

/* ---- alerts ---- */

static sl_status check_level(sl_watch *watch, const figures *f) {
    double percent = sl_watch_percent(watch);
    const sl_watch_options *o = &watch->options;
    int level = percent >= o->critical_pct ? 2 : percent >= o->warning_pct ? 1 : 0;
    double armed_below =
        (watch->alert_level == 2 ? o->critical_pct : o->warning_pct) - REARM_POINTS;
    if (level < watch->alert_level && percent < armed_below)
        watch->alert_level = level;
    if (level <= watch->alert_level)
        return SL_OK;
    char context[96], metadata[64];
    watch->alert_level = level;
    watch->alert_cnt++;
    snprintf(context, sizeof context, "%s: Memory usage at %.1f%%",
             level == 2 ? "CRITICAL" : "WARNING", percent);
    snprintf(metadata, sizeof metadata, "{\"usage_percent\":%.4f}", percent);
    return emit(watch, f, &(happening){level == 2 ? "critical" : "warning", 0, context, metadata});
}

static sl_status check_step(sl_watch *watch, const figures *f, int64_t change) {
    char context[96], bytes[SL_COMPAT_BYTES_CAP];
    int64_t now = sl_watch_clock();
    bool is_new = now - watch->step_ns > STEP_QUIET_NS || change >= 2 * watch->step_bytes;
    if (change <= LARGE_STEP || (watch->step_ns && !is_new))
        return SL_OK;
    watch->step_ns = now;
    watch->step_bytes = change;
    watch->alert_cnt++;
    snprintf(context, sizeof context, "Large allocation detected: %s",
             sl_compat_bytes(bytes, change));
    return emit(watch, f, &(happening){"warning", change, context, "{\"large_allocation\":true}"});
}

double sl_watch_percent(const sl_watch *watch) {
    int64_t limit = watch->total_bytes;
    return limit > 0 ? 100.0 * (double)watch->current_bytes / (double)limit : 0;
}

/* ---- a tick ---- */

/* What happened, in the words of the Python tool's two trackers. */
typedef struct words {
    const char *start, *stop, *peak, *change[2]; /* down, up */
} words;

static const words *words_of(const sl_watch *watch) {
    static const words host = {"CPU memory tracking started",
                               "CPU memory tracking stopped",
                               "New CPU peak RSS",
                               {"RSS decreased by", "RSS increased by"}};
    static const words card = {"Memory tracking started",
                               "Memory tracking stopped",
                               "New peak memory",
                               {"Memory freed:", "Memory allocated:"}};
    return watch->counters ? &card : &host;
}

static sl_status note_change(sl_watch *watch, const figures *f, int64_t change) {
    char context[96], bytes[SL_COMPAT_BYTES_CAP];
    if (f->allocated > watch->peak_bytes) {
        watch->peak_bytes = f->allocated;
        snprintf(context, sizeof context, "%s: %s", words_of(watch)->peak,
                 sl_compat_bytes(bytes, f->allocated));
        SL_TRY(emit(watch, f, &(happening){"peak", change, context, NULL}));
    }
    if (!change)
        return SL_OK;
    snprintf(context, sizeof context, "%s %s", words_of(watch)->change[change > 0],
             sl_compat_bytes(bytes, change > 0 ? change : -change));
    return emit(watch, f,
                &(happening){change > 0 ? "allocation" : "deallocation", change, context, NULL});
}

static sl_status tick(sl_watch *watch) {
    figures f = read_figures(watch);
    /* A process that ended between two readings has no figures; it did not free everything. */
    if (!watch->tree->is_alive)
        return SL_OK;
    int64_t change = f.allocated - watch->last_bytes;
    watch->last_bytes = watch->current_bytes = f.allocated;
    watch->last_used = f.used;
    watch->last_free = f.free;
    watch->last_device = f.device;
    watch->sample_cnt++;
    watch->sum_bytes += (double)f.allocated;
    SL_TRY(emit(watch, &f, &(happening){"sample", change, NULL, NULL}));
    SL_TRY(note_change(watch, &f, change));
    if (!watch->options.has_alerts)
        return SL_OK;
    SL_TRY(check_level(watch, &f));
    return check_step(watch, &f, change);
}

/* ---- the whole ---- */

const char *sl_watch_backend(void) {
    const sl_counters_ops *ops = sl_counters_open(NULL);
    bool has_card = ops && ops->count() > 0;
    if (ops)
        ops->close();
    return has_card ? "cuda" : "cpu";
}

static sl_status open_counters(sl_watch *watch, sl_error *err) {
    watch->backend = "cpu";
    if (watch->options.uses_host)
        return SL_OK;
    watch->counters = sl_counters_open(NULL);
    if (watch->counters && watch->counters->count() == 0) {
        watch->counters->close();
        watch->counters = NULL;
    }
    if (!watch->counters)
        return SL_OK;
    watch->backend = "cuda";
    if (watch->options.device >= watch->counters->count())
        return sl_fail(err, SL_E_DEVICE, "there is no device %d; there are %d",
                       watch->options.device, watch->counters->count());
    return SL_OK;
}

static sl_status prepare(sl_watch *watch, sl_error *err) {
    watch->kept = sl_telemetry_new();
    watch->tree = calloc(1, sizeof *watch->tree);
    watch->kept_cap = watch->options.buffer_size ? watch->options.buffer_size : BUFFER_DEFAULT;
    if (!watch->kept || !watch->tree)
        return sl_fail_no_memory(err, "the records");
    SL_TRY(open_counters(watch, err));
    watch->pid = watch->options.pid ? watch->options.pid : (int)getpid();
    watch->oom_kills = sl_cgroup_oom_kills();
    if (watch->options.command)
        SL_TRY(sl_watch_child_start(watch, err));
    sl_proc_tree_read(watch->pid, watch->tree);
    if (!watch->tree->is_alive && !watch->child)
        return sl_fail(err, SL_E_DEVICE, "there is no process %d", watch->pid);
    sl_maybe_u64 limit = sl_host_limit_bytes();
    if (!watch->counters)
        watch->total_bytes = limit.known ? (int64_t)limit.value : SL_TM_NULL;
    return SL_OK;
}

static sl_status begin(sl_watch *watch) {
    figures f = read_figures(watch);
    watch->begin_ns = sl_watch_clock();
    watch->last_bytes = watch->first_bytes = watch->current_bytes = f.allocated;
    watch->last_used = f.used;
    watch->last_free = f.free;
    watch->last_device = f.device;
    return emit(watch, &f, &(happening){"start", 0, words_of(watch)->start, NULL});
}

static bool is_over(sl_watch *watch) {
    watch->elapsed_ns = sl_watch_clock() - watch->begin_ns;
    double seconds = (double)watch->elapsed_ns / 1e9;
    bool is_gone = watch->options.command ? sl_watch_child_ended(watch) : !watch->tree->is_alive;
    if (was_interrupted)
        watch->end = SL_WATCH_INTERRUPTED;
    else if (is_gone)
        watch->end = SL_WATCH_GONE;
    else if (watch->options.duration_s > 0 && seconds >= watch->options.duration_s)
        watch->end = SL_WATCH_TIME;
    else
        return false;
    return true;
}

static void tell_second(sl_watch *watch, int64_t *next_second) {
    if (watch->elapsed_ns < *next_second)
        return;
    *next_second += INT64_C(1000000000);
    if (watch->options.on_second)
        watch->options.on_second(watch->options.ctx, watch);
}

static sl_status loop(sl_watch *watch) {
    int64_t interval_ns = (int64_t)(watch->options.interval_s * 1e9);
    int64_t next_tick = watch->begin_ns + interval_ns, next_second = 0;
    while (!is_over(watch)) {
        tell_second(watch, &next_second);
        int64_t second = watch->begin_ns + next_second;
        int64_t until = sl_min_i64(next_tick, second);
        int64_t last = watch->begin_ns + (int64_t)(fmin(watch->options.duration_s, 1e9) * 1e9);
        if (watch->options.duration_s > 0 && last < until)
            until = last;
        sl_watch_sleep(watch, until);
        int64_t now = sl_watch_clock();
        if (now < next_tick)
            continue;
        SL_TRY(tick(watch));
        /* Missed ticks (the machine slept) are not made up for. */
        while (next_tick <= now)
            next_tick += interval_ns;
    }
    /* A watch shorter than its interval has one reading; without it the peak would be 0. */
    return watch->sample_cnt ? SL_OK : tick(watch);
}

static void look_back(sl_watch *watch) {
    sl_maybe_u64 kills = sl_cgroup_oom_kills();
    /* Ctrl-C reached the command too; it may need a moment to end. */
    if (watch->child && watch->end == SL_WATCH_INTERRUPTED)
        sl_watch_child_wait(watch, CHILD_GRACE_NS);
    watch->was_oom_killed = kills.known && watch->oom_kills.known &&
                            kills.value > watch->oom_kills.value && WIFSIGNALED(watch->exit_status);
}

sl_status sl_watch_run(sl_watch *watch, const sl_watch_options *options, sl_error *err) {
    struct sigaction old[3];
    *watch = (sl_watch){.options = *options, .errors_fd = -1, .total_bytes = SL_TM_NULL};
    was_interrupted = 0;
    set_handlers(old, true);
    sl_status status = prepare(watch, err);
    if (status == SL_OK && (begin(watch) < 0 || loop(watch) < 0))
        status = sl_fail_no_memory(err, "the records");
    if (status == SL_OK) {
        look_back(watch);
        figures f = {watch->current_bytes, watch->current_bytes, SL_TM_NULL, SL_TM_NULL, -1};
        if (watch->counters || watch->tree->is_alive)
            f = read_figures(watch);
        if (!watch->counters && !watch->tree->is_alive)
            f.allocated = f.used = watch->current_bytes;
        if (emit(watch, &f, &(happening){"stop", 0, words_of(watch)->stop, NULL}) < 0)
            status = sl_fail_no_memory(err, "the records");
    }
    set_handlers(old, false);
    return status;
}

void sl_watch_fini(sl_watch *watch) {
    if (watch->counters)
        watch->counters->close();
    if (watch->errors_fd >= 0)
        close(watch->errors_fd);
    sl_telemetry_free(watch->kept);
    free(watch->tree);
    *watch = (sl_watch){.errors_fd = -1};
}

const sl_tm_record **sl_watch_kept(const sl_watch *watch, size_t *cnt) {
    size_t n = watch->kept->records.cnt;
    const sl_tm_record **list = malloc((n + 1) * sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        list[i] = &watch->kept->records.at[n < watch->kept_cap ? i : (watch->kept_next + i) % n];
    *cnt = n;
    return list;
}

int sl_watch_exit_code(const sl_watch *watch) {
    if (WIFSIGNALED(watch->exit_status))
        return 128 + WTERMSIG(watch->exit_status);
    return WIFEXITED(watch->exit_status) ? WEXITSTATUS(watch->exit_status) : 0;
}
