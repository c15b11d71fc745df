/* SPDX-License-Identifier: MIT */
#include "record/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "record/alert_rules.h"
#include "record/backward_map.h"
#include "record/got_patch.h"
#include "record/module_paths.h"
#include "record/native_names.h"
#include "record/native_stack.h"
#include "record/phase_watch.h"
#include "record/pystack.h"
#include "record/record_helper.h"
#include "record/record_identity.h"
#include "record/sampler.h"
#include "record/stack_cache.h"
#include "record/tag_scan.h"
#include "record/torch_profiler.h"
#include "record/vmm_table.h"

typedef enum recorder_state {
    STATE_OFF,     /* never armed, failed, or closed: every event passes by */
    STATE_READY,   /* armed; the first event opens the log */
    STATE_OPENING, /* one thread is opening, others wait for it */
    STATE_OPEN,
    STATE_PAUSED, /* around a fork: log kept, helper gone; the next event goes on */
} recorder_state;

#define FORK_STOP_MS 2000
#define EXIT_STOP_MS 1000

typedef struct recorder {
    atomic_int state;
    _Atomic(sl_log *) log; /* owned; also in sl_recorder_current while events may use it */
    bool wants_cpu;        /* before the large fields: every event reads it */
    sl_record_settings settings;
    char path[SL_RECORD_PATH_CAP + 128];
} recorder;

static recorder rec;
_Atomic(sl_log *) sl_recorder_current;

static sl_diag_once open_failed, thread_failed, stacks_refused, native_refused;

/* --- The file ---------------------------------------------------------------------------------- */

/* "rank3-python3-4711.slog"; after an exec the process has the same number, so a count follows. */
static void make_path(const sl_record_identity *who, unsigned attempt) {
    char rank[32] = "", suffix[16] = "";
    if (who->rank >= 0)
        snprintf(rank, sizeof rank, "rank%d-", who->rank);
    if (attempt)
        snprintf(suffix, sizeof suffix, ".%u", attempt);
    snprintf(rec.path, sizeof rec.path, "%s/%s%.40s-%d%s.slog", rec.settings.dir, rank,
             program_invocation_short_name, (int)getpid(), suffix);
}

static sl_status create_log(sl_error *err) {
    sl_record_identity who = sl_record_identity_find();
    sl_log_identity identity = {
        .job = who.job,
        .rank = who.rank,
        .local_rank = who.local_rank,
        .world_size = who.world_size,
    };
    sl_log_options options = {
        .struct_size = sizeof options,
        .path = rec.path,
        .identity = &identity,
        .ring_bytes = rec.settings.ring_bytes,
    };
    mkdir(rec.settings.dir, 0777); /* a failure shows in the next call */
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        make_path(&who, attempt);
        if (access(rec.path, F_OK) == 0)
            continue;
        sl_log *log;
        sl_status status = sl_log_create(&options, &log, err);
        if (status == SL_OK)
            atomic_store(&rec.log, log);
        else if (access(rec.path, F_OK) == 0)
            continue; /* a process of another machine, with the same number, was faster */
        return status;
    }
    return sl_fail(err, SL_E_OPEN, "'%s' and 999 more exist", rec.path);
}

static void start_native_stacks(void) {
    sl_native_detach(); /* an earlier recording may have had them */
    if (!rec.settings.has_native_stacks || sl_native_attach() != SL_NATIVE_REFUSED)
        return;
    sl_log_health_add(rec.log, SL_HEALTH_STACK_FAILURE, 1);
    sl_diag_say(&native_refused, "no native stacks: %s", sl_native_get_reason());
}

static void start_stacks(void) {
    if (!rec.settings.has_stacks || !sl_stack_cache_init())
        return;
    start_native_stacks();
    if (sl_pystack_attach() == SL_PYSTACK_REFUSED) {
        sl_log_health_add(rec.log, SL_HEALTH_STACK_FAILURE, 1);
        sl_diag_say(&stacks_refused, "no Python stacks for Python 3.%u: %s", sl_pystack_get_minor(),
                    sl_pystack_get_reason());
    }
}

static void run_maintain(void) {
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_log_maintain(log);
}

static void run_sampler(void) {
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_sampler_run(log);
}

/* Preloaded, the few libraries that bind past us are met in dlsym: there this thread need not hold
 * libraries open, which could make it the one that unloads them. */
static void run_patch(void) {
    if (rec.settings.is_patching)
        sl_got_patch_if_changed();
}

static void start_helper(void) {
    const sl_helper_task tasks[] = {
        {run_maintain, 20},
        {run_patch, 10},
        {run_sampler, rec.settings.interval_ms},
    };
    if (sl_helper_start(tasks, SL_COUNT_OF(tasks)))
        return;
    if (rec.log)
        sl_log_health_add(rec.log, SL_HEALTH_HOOK_FAILURE, 1);
    sl_diag_say(&thread_failed, "no thread for the recorder; long recordings will be cut short");
}

static sl_log *publish(void) {
    atomic_store_explicit(&sl_recorder_current, rec.log, memory_order_release);
    atomic_store(&rec.state, STATE_OPEN);
    return rec.log;
}

/* The calling thread alone is in STATE_OPENING. */
static sl_log *open_log(void) {
    sl_error err = SL_ERROR_INIT;
    if (create_log(&err) < 0) {
        rec.path[0] = '\0';
        sl_diag_say(&open_failed, "not recording: %s; the program runs on", err.text);
        atomic_store(&rec.state, STATE_OFF);
        return NULL;
    }
    start_stacks();
    sl_phase_start(rec.log);
    sl_backward_start();
    sl_tag_scan_start(rec.log);
    sl_module_paths_start(rec.settings.has_modules && rec.settings.has_stacks);
    start_helper();
    return publish();
}

sl_log *sl_recorder_open(void) {
    for (;;) {
        int state = atomic_load(&rec.state);
        if (state == STATE_OFF)
            return NULL;
        if (state == STATE_OPEN)
            return atomic_load_explicit(&sl_recorder_current, memory_order_acquire);
        if (state == STATE_OPENING)
            sched_yield();
        else if (atomic_compare_exchange_strong(&rec.state, &state, STATE_OPENING)) {
            if (state == STATE_READY)
                return open_log();
            start_helper();
            return publish();
        }
    }
}

/* --- Fork ------------------------------------------------------------------------------------ */

/* Takes the log away from all threads. False when it was not open. */
static bool pause_log(void) {
    int open = STATE_OPEN;
    if (!atomic_compare_exchange_strong(&rec.state, &open, STATE_OPENING))
        return false;
    atomic_store(&sl_recorder_current, NULL);
    return true;
}

static void before_fork(void) {
    bool was_open = pause_log();
    sl_helper_stop(FORK_STOP_MS);
    if (was_open)
        atomic_store(&rec.state, STATE_PAUSED);
}

/* Before the first event there is a helper only to patch libraries that come. */
static void after_fork_in_parent(void) {
    if (atomic_load(&rec.state) == STATE_READY && rec.settings.is_patching)
        start_helper();
}

static void after_fork_in_child(void) {
    sl_guard_after_fork_child();
    sl_helper_after_fork_child();
    sl_got_after_fork_child();
    sl_native_names_after_fork_child();
    sl_torch_profiler_after_fork_child();
    sl_sampler_after_fork_child();
    sl_vmm_after_fork_child();
    if (atomic_load(&rec.state) == STATE_OFF)
        return;
    atomic_store(&sl_recorder_current, NULL);
    if (rec.log)
        sl_log_after_fork_child(rec.log, false);
    rec.log = NULL;
    sl_stack_cache_clear();
    sl_native_clear();
    /* Whatever another thread of the parent was at, opening a log for example, ends here. */
    atomic_store(&rec.state, STATE_READY);
}

/* --- Start and end ----------------------------------------------------------------------------- */

static void end_thread(void) {
    sl_log *log = atomic_load(&sl_recorder_current);
    if (log)
        sl_log_thread_exit(log);
}

static void register_once(void) {
    static bool is_registered;
    if (is_registered)
        return;
    is_registered = true;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    sl_guard_on_thread_exit(end_thread);
}

bool sl_recorder_arm(const sl_record_settings *settings) {
    if (settings->is_disabled || !settings->dir[0] || atomic_load(&rec.state) != STATE_OFF)
        return false;
    rec.settings = *settings;
    rec.wants_cpu =
        settings->cpu == SL_CPU_ON || (settings->cpu == SL_CPU_AUTO && !sl_record_has_gpu());
    rec.path[0] = '\0';
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, settings->alert_device_pct);
    sl_alert_set_threshold(SL_ALERT_HOST_FULL, settings->alert_host_pct);
    sl_diag_silence(settings->is_quiet);
    sl_guard_init();
    register_once();
    atomic_store(&rec.state, STATE_READY);
    if (settings->is_patching) {
        sl_got_patch_if_changed();
        start_helper();
    }
    return true;
}

void sl_recorder_close(void) {
    int state = STATE_READY;
    if (atomic_compare_exchange_strong(&rec.state, &state, STATE_OFF)) {
        sl_helper_stop(EXIT_STOP_MS);
        return;
    }
    if (state == STATE_PAUSED)
        atomic_store(&rec.state, STATE_OFF);
    else if (!pause_log())
        return;
    atomic_store(&rec.state, STATE_OFF);
    bool is_helper_gone = sl_helper_stop(EXIT_STOP_MS);
    /* A thread that is still inside after this time may use the mapping for ever: it stays, and
     * the file is left as after a kill, which loses nothing. */
    if (is_helper_gone && sl_guard_wait_empty(EXIT_STOP_MS)) {
        sl_phase_finish(rec.log);
        sl_sampler_finish(rec.log);
        sl_sampler_reset();
        sl_log_close(rec.log);
        sl_stack_cache_clear();
        sl_native_clear();
    }
    rec.log = NULL;
}

void sl_recorder_note_library(void *handle) {
    int saved_errno = errno;
    if (atomic_load_explicit(&rec.state, memory_order_acquire) != STATE_OFF)
        sl_got_patch_opened(handle);
    errno = saved_errno;
}

bool sl_recorder_is_armed(void) {
    return atomic_load(&rec.state) != STATE_OFF;
}

const char *sl_recorder_path(void) {
    return rec.path;
}

const sl_record_settings *sl_recorder_settings(void) {
    return &rec.settings;
}

SL_HOT bool sl_recorder_wants_cpu(void) {
    return rec.wants_cpu;
}
