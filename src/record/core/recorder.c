/* SPDX-License-Identifier: MIT */
#include "record/core/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/diag.h"
#include "base/files/file_rights.h"
#include "record/core/alert_rules.h"
#include "record/core/bus_guard.h"
#include "record/core/control_lock.h"
#include "record/core/py_exit.h"
#include "record/core/record_claim.h"
#include "record/core/record_file.h"
#include "record/core/record_helper.h"
#include "record/core/sampler.h"
#include "record/hooks/got_patch.h"
#include "record/hooks/hook_torch.h"
#include "record/hooks/torch_profiler.h"
#include "record/hooks/vmm_table.h"
#include "record/stacks/module_paths.h"
#include "record/stacks/native_names.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/pystack.h"
#include "record/stacks/stack_cache.h"
#include "record/torch/alloc_conf.h"
#include "record/torch/trace_tracker.h"
#include "record/training/backward_map.h"
#include "record/training/phase_watch.h"
#include "record/training/tag_scan.h"
#include "record/training/workspace_watch.h"

typedef enum recorder_state {
    STATE_OFF,   /* never armed, failed, or closed: events are ignored */
    STATE_READY, /* armed; the first event opens the log */
    STATE_OPEN,
} recorder_state;

#define FORK_STOP_MS  2000
#define EXIT_STOP_MS  1000
#define LOCK_WAIT_MS  5000
/* Of one program; a data loader with four workers makes this many in 64 epochs. */
#define CHILD_CNT_MAX 256

/* State and log change under the control lock only. */
typedef struct recorder {
    atomic_int state;
    _Atomic(sl_log *)
        log; /* owned; also in sl_recorder_page while events may use it without more ado */
    atomic_bool wants_cpu; /* before the large fields: every event reads it */
    atomic_bool is_exiting;
    atomic_bool is_work_over; /* marked in the log that is open */
    bool is_child;            /* of a fork */
    atomic_int pid;           /* that opened the log */
    atomic_uint
        *child_cnt; /* recordings of forked children, shared by all of them; NULL = not counted */
    atomic_ullong missed_cnt; /* events that came while there was no log for them */
    sl_record_settings settings;
    /* The newest, and the one that was before it: somebody may read it. */
    char paths[2][SL_RECORD_FILE_CAP];
    _Atomic(const char *) path;
} recorder;

static recorder rec = {.path = ""};
sl_recorder_page_t sl_recorder_page;

/* Of the calling thread; above 1 where a signal handler forks during a fork. */
static _Thread_local unsigned forks_under_way __attribute__((tls_model("initial-exec")));

static sl_diag_once open_failed, thread_failed, stacks_refused, native_refused, file_lost,
    too_many_children;

/* --- The file ---------------------------------------------------------------------------------- */

static sl_status create_log(sl_error *err) {
    /* The one that no reader of sl_recorder_path can have. */
    char *path = rec.paths[atomic_load(&rec.path) == rec.paths[0]];
    sl_log *log;
    SL_TRY(sl_record_file_create(&rec.settings, rec.is_child, path, &log, err));
    atomic_store(&rec.log, log);
    atomic_store(&rec.path, path);
    return SL_OK;
}

static void start_native_stacks(void) {
    sl_native_detach(); /* an earlier recording may have had them */
    if (rec.settings.stacks != SL_RECORD_STACKS_NATIVE || sl_native_attach() != SL_NATIVE_REFUSED)
        return;
    sl_log_health_add(rec.log, SL_HEALTH_STACK_FAILURE, 1);
    sl_diag_say(&native_refused, "recording no native stacks: %s", sl_native_get_reason());
}

static void start_stacks(void) {
    if (rec.settings.stacks == SL_RECORD_STACKS_NONE || !sl_stack_cache_init())
        return;
    start_native_stacks();
    if (sl_pystack_attach() == SL_PYSTACK_REFUSED) {
        sl_log_health_add(rec.log, SL_HEALTH_STACK_FAILURE, 1);
        sl_diag_say(&stacks_refused, "recording no Python stacks (Python 3.%u): %s",
                    sl_pystack_get_minor(), sl_pystack_get_reason());
    }
}

/* Ends the recording after a fault. Later events are ignored; the memory stays mapped, because
 * threads may be writing to it. If the lock is taken, the next turn tries again: its holder may be
 * waiting for this thread. */
static void give_log_up(void) {
    sl_control before;
    if (!sl_control_try(&before))
        return;
    sl_diag_say(&file_lost,
                "recording ended: '%s' was truncated, or its disk failed; the program continues",
                sl_recorder_path());
    atomic_store(&rec.state, STATE_OFF);
    atomic_store(&sl_recorder_page.current, NULL);
    atomic_store(&rec.log, NULL);
    sl_control_give(&before);
}

/* The helper's tasks. Stop waits for the helper, so the log they load stays. */
static void run_maintain(void) {
    sl_log *log = atomic_load(&rec.log);
    if (log && sl_bus_guard_has_caught())
        give_log_up();
    else if (log)
        sl_log_maintain(log);
}

static void run_host_sampler(void) {
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_sampler_run_host(log);
}

static void run_device_sampler(void) {
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_sampler_run_devices(log);
}

static void run_wanted_sampler(void) {
    if (atomic_exchange(&sl_sampler_is_wanted, false))
        run_device_sampler();
}

/* Preloaded, the few libraries that bind past us are met in dlsym: there this thread need not hold
 * libraries open, which could make it the one that unloads them. */
static void run_patch(void) {
    if (rec.settings.is_patching)
        sl_got_patch_if_changed();
}

static void start_helper(void) {
    const sl_helper_task tasks[] = {
        {run_maintain, 20, false},
        {run_patch, 10, false},
        {run_device_sampler, rec.settings.interval_ms, false},
        {run_wanted_sampler, 10, false},
        {run_host_sampler, rec.settings.interval_ms, true},
    };
    if (sl_helper_start(tasks, SL_COUNT_OF(tasks)))
        return;
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_log_health_add(log, SL_HEALTH_HOOK_FAILURE, 1);
    sl_diag_say(&thread_failed,
                "the recorder could not start its thread; long recordings will be incomplete");
}

/* --- Opening ----------------------------------------------------------------------------------- */

/* Enters the guard without sl_capture_begin, which would open a log or start a helper. A child that no handler has
 * seen has its parent's log in rec.log; it is not here. */
void sl_recorder_end_work(void) {
    sl_guard guard;
    if (!sl_guard_enter(&guard))
        return;
    sl_log *log = atomic_load(&sl_recorder_page.is_here) ? atomic_load(&rec.log) : NULL;
    if (log && !atomic_exchange(&rec.is_work_over, true)) {
        sl_phase_finish_thread(log, guard.slot); /* its last step ends before the work does */
        sl_log_mark(log, SL_EV_WORK_END, 0);
    }
    sl_guard_leave(&guard);
}

void sl_recorder_note_exit(int status, bool is_at_once) {
    sl_guard guard;
    if (atomic_load(&rec.pid) != getpid() || !atomic_load(&sl_recorder_page.is_here) ||
        !sl_guard_enter(&guard))
        return;
    sl_log *log = atomic_load(&rec.log);
    if (log)
        sl_log_note_exit(log, status, is_at_once);
    sl_guard_leave(&guard);
}

void sl_recorder_resume_work(void) {
    atomic_store(&rec.is_work_over, false);
}

/* Handlers run in the opposite order of their registration. This one is registered after torch's table of CPU blocks
 * was made, so it runs before that is destroyed (T1 in hook_torch.c). */
static void on_exit_begins(void) {
    sl_recorder_end_work();
    atomic_store(&rec.is_exiting, true);
    sl_hook_torch_leave();
}

static void on_exit_with(int status, void *unused) {
    SL_UNUSED(unused);
    sl_recorder_end_work();
    sl_recorder_note_exit(status, false);
}

/* At the first log of the process: before what was made by then is destroyed. A child of a fork has its parent's
 * handlers. A handler of on_exit receives the exit status, one of atexit does not; a program that an exception ends
 * closes its recording as usual, so the status is the only sign of it. This code must stay loaded until then: the
 * library is never unloaded (meson.build). */
static void watch_end_of_work(void) {
    static bool is_watched;
    if (is_watched)
        return;
    is_watched = true;
    on_exit(on_exit_with, NULL);
}

void sl_recorder_watch_exit(void) {
    int saved_errno = errno;
    atexit(on_exit_begins);
    errno = saved_errno;
}

/* Counts children that would be recorded, not forks: most forks are followed by an exec. */
static bool is_child_too_many(void) {
    if (!rec.is_child || !rec.child_cnt)
        return false;
    unsigned number = atomic_fetch_add(rec.child_cnt, 1) + 1;
    if (number == CHILD_CNT_MAX + 1)
        sl_diag_say(&too_many_children,
                    "already recorded %d forked children; this one and later ones are not recorded",
                    CHILD_CNT_MAX);
    return number > CHILD_CNT_MAX;
}

static void watch_for_faults(const sl_log *log) {
    void *from;
    size_t bytes;
    sl_log_get_range(log, &from, &bytes);
    sl_bus_guard_watch(from, bytes);
}

static sl_log *publish(void) {
    sl_log *log = atomic_load(&rec.log);
    uint64_t missed_cnt = atomic_exchange(&rec.missed_cnt, 0);
    if (log && missed_cnt)
        sl_log_health_add(log, SL_HEALTH_DROPPED, missed_cnt);
    atomic_store_explicit(&sl_recorder_page.current, log, memory_order_release);
    return log;
}

/* Under the control lock. */
static sl_log *open_log(void) {
    sl_error err = SL_ERROR_INIT;
    bool is_left_out = is_child_too_many();
    if (is_left_out || create_log(&err) < 0) {
        if (!is_left_out)
            sl_diag_say(&open_failed, "not recording: %s; the program continues", err.text);
        atomic_store(&rec.state, STATE_OFF);
        return NULL;
    }
    atomic_store(&rec.pid, getpid());
    watch_for_faults(rec.log);
    watch_end_of_work();
    atomic_store(&rec.is_work_over, false);
    sl_stack_cache_clear(); /* an earlier log may have been given up, with its numbers in there */
    sl_native_clear();
    start_stacks();
    if (sl_pystack_get_state() != SL_PYSTACK_REFUSED)
        sl_py_exit_start();
    sl_phase_start(rec.log);
    sl_backward_start();
    sl_tag_scan_start(rec.log);
    sl_workspace_start(rec.log);
    sl_alloc_conf_start(rec.log);
    sl_tracker_start(rec.log);
    sl_module_paths_start(rec.settings.has_modules && rec.settings.stacks != SL_RECORD_STACKS_NONE);
    start_helper();
    atomic_store(&rec.state, STATE_OPEN);
    return publish();
}

static void after_unseen_fork(void);

/* While another thread opens the log, which takes seconds on a slow disk, an event waits. It gives up after five
 * seconds, because the other thread may be waiting for this one, and is counted as dropped. */
#define OPEN_TURNS   10000
#define OPEN_WAIT_US 500

static sl_log *miss_event(void) {
    atomic_fetch_add(&rec.missed_cnt, 1);
    return NULL;
}

/* Under the control lock. */
static sl_log *open_or_go_on(void) {
    int state = atomic_load(&rec.state);
    if (state == STATE_READY)
        return open_log();
    if (state != STATE_OPEN)
        return NULL;
    start_helper(); /* it was stopped for a fork */
    return publish();
}

/* An event does not wait for the lock: during a fork it is written without a helper, and during a stop the
 * state is off at once (C2). Events of other libraries' handlers on the forking thread are counted as dropped: the
 * log is the parent's, or the child has none yet. */
sl_log *sl_recorder_open(void) {
    sl_control before;
    if (SL_UNLIKELY(forks_under_way > 0))
        return atomic_load(&rec.state) == STATE_OFF ? NULL : miss_event();
    for (unsigned turn = 0; turn < OPEN_TURNS; turn++) {
        int state = atomic_load(&rec.state);
        if (state == STATE_OFF)
            return NULL;
        if (SL_UNLIKELY(!atomic_load(&sl_recorder_page.is_here)))
            after_unseen_fork();
        if (sl_control_try(&before)) {
            sl_log *log = open_or_go_on();
            sl_control_give(&before);
            return log;
        }
        if (state == STATE_OPEN)
            return atomic_load(&rec.log);
        sl_clock_pause_us(OPEN_WAIT_US);
    }
    return miss_event();
}

/* --- Fork ------------------------------------------------------------------------------------ */

/* Until after the fork the lock is held (C3). Events of other threads go on; the next one after the fork
 * starts the helper again. */
static void before_fork(void) {
    sl_control before;
    sl_control_take(&before);
    if (forks_under_way++ == 0) { /* a signal handler may fork in the middle of it */
        atomic_store(&sl_recorder_page.current, NULL);
        sl_helper_stop(FORK_STOP_MS, sl_got_is_waiting);
        sl_hook_torch_before_fork();
    }
    sl_control_relax(&before);
}

/* Before the first event there is a helper only to patch libraries that come. */
static void after_fork_in_parent(void) {
    if (forks_under_way == 1) {
        sl_hook_torch_after_fork(false);
        if (atomic_load(&rec.state) == STATE_READY && rec.settings.is_patching)
            start_helper();
    }
    forks_under_way--;
    sl_control_give_lock();
}

/* Only the calling thread exists. Where a signal handler forked, it may be in the middle of an event. */
static void become_child(void) {
    bool is_inside = sl_guard_own && atomic_load(&sl_guard_own->is_inside);
    rec.is_child = true;
    atomic_store(&rec.missed_cnt, 0); /* the parent's */
    sl_guard_after_fork_child();
    sl_helper_after_fork_child();
    sl_got_after_fork_child();
    sl_native_names_after_fork_child();
    sl_torch_profiler_after_fork_child();
    sl_sampler_after_fork_child();
    sl_vmm_after_fork_child();
    sl_bus_guard_after_fork_child();
    atomic_store(&sl_recorder_page.current, NULL);
    sl_log_after_fork_child(atomic_exchange(&rec.log, NULL), is_inside);
    if (atomic_load(&rec.state) != STATE_OFF) {
        sl_stack_cache_clear();
        sl_native_clear();
        /* Whatever another thread of the parent was at, opening a log for example, ends here. */
        atomic_store(&rec.state, STATE_READY);
    }
    atomic_store(&sl_recorder_page.is_here, true);
    sl_control_after_fork_child();
    forks_under_way = 0;
}

static void after_fork_in_child(void) {
    sl_hook_torch_after_fork(true);
    become_child();
}

/* A child whose making called no handler has its first event. The caller is inside the guard; what it was in
 * the parent is not known, so the memory of the parent's log is not given back. */
static void after_unseen_fork(void) {
    static atomic_flag is_busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&is_busy))
        return;
    if (!atomic_load(&sl_recorder_page.is_here)) {
        atomic_store(&rec.log, NULL);
        sl_recorder_drop_cpu(); /* torch's table may be locked for ever (T2) */
        become_child();
    }
    atomic_flag_clear(&is_busy);
}

/* --- Start and end ----------------------------------------------------------------------------- */

static void end_thread(void) {
    sl_log *log = atomic_load(&sl_recorder_page.current);
    if (log)
        sl_log_thread_exit(log);
}

/* Linux 4.14; without it a child that no handler sees would go on in its parent's log, as before. */
static void guard_page(void) {
    atomic_store(&sl_recorder_page.is_here, true);
#ifdef MADV_WIPEONFORK
    madvise(&sl_recorder_page, sizeof sl_recorder_page, MADV_WIPEONFORK);
#endif
}

static void register_once(void) {
    static bool is_registered;
    if (is_registered)
        return;
    is_registered = true;
    guard_page();
    void *page = mmap(NULL, sizeof *rec.child_cnt, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rec.child_cnt = page == MAP_FAILED ? NULL : page;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    sl_guard_on_thread_exit(end_thread);
}

static void arm(const sl_record_settings *settings) {
    sl_tracker_arm(settings->has_replay);
    rec.settings = *settings;
    atomic_store(&rec.wants_cpu, settings->cpu == SL_RECORD_CPU_ON ||
                                     (settings->cpu == SL_RECORD_CPU_AUTO && !sl_record_has_gpu()));
    atomic_store(&rec.path, "");
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, settings->alert_device_pct);
    sl_alert_set_threshold(SL_ALERT_HOST_FULL, settings->alert_host_pct);
    sl_diag_silence(settings->is_quiet);
    sl_guard_init();
    register_once();
    atomic_store(&rec.state, STATE_READY);
}

/* The launcher has checked its folder; one that a program gives may be in /tmp. */
static bool is_place_safe(const sl_record_settings *settings) {
    sl_error err = SL_ERROR_INIT;
    if (!settings->is_patching || sl_place_check(settings->dir, &err) >= 0)
        return true;
    sl_diag_say(&open_failed, "not recording: %s; the program continues", err.text);
    return false;
}

bool sl_recorder_arm(const sl_record_settings *settings) {
    sl_control before;
    sl_control_take(&before);
    bool is_armed = is_place_safe(settings) && !settings->is_disabled && settings->dir[0] &&
                    atomic_load(&rec.state) == STATE_OFF && !atomic_load(&rec.is_exiting) &&
                    sl_record_claim_take();
    if (is_armed)
        arm(settings);
    sl_control_give(&before);
    return is_armed;
}

/* Patching may wait for the loader, so it is done without the lock (C1). */
void sl_recorder_patch(void) {
    sl_control before;
    sl_got_patch_if_changed();
    sl_control_take(&before);
    if (atomic_load(&rec.state) != STATE_OFF)
        start_helper();
    sl_control_give(&before);
}

/* A thread that is still inside after this time may use the mapping for ever: it stays, and the file is
 * left as after a kill, which loses nothing. */
static void close_log(sl_log *log, bool is_helper_gone) {
    if (!log || !is_helper_gone || !sl_guard_wait_empty(EXIT_STOP_MS))
        return;
    sl_phase_finish(log);
    if (!atomic_exchange(&rec.is_work_over, true))
        sl_log_mark(log, SL_EV_WORK_END, 0);
    sl_sampler_finish(log);
    sl_sampler_reset();
    sl_log_finish(log);
    sl_bus_guard_end();
    sl_log_free(log);
    sl_stack_cache_clear();
    sl_native_clear();
}

void sl_recorder_close(void) {
    sl_control before;
    if (!sl_control_take_within(&before, LOCK_WAIT_MS))
        return;
    bool was_on = atomic_exchange(&rec.state, STATE_OFF) != STATE_OFF;
    atomic_store(&sl_recorder_page.current, NULL);
    sl_log *log = atomic_exchange(&rec.log, NULL);
    bool is_helper_gone = sl_helper_stop(EXIT_STOP_MS, NULL);
    close_log(log, is_helper_gone);
    if (was_on)
        sl_record_claim_give();
    sl_control_give(&before);
}

void sl_recorder_note_library(void *handle, const char *name) {
    int saved_errno = errno;
    if (atomic_load_explicit(&rec.state, memory_order_acquire) != STATE_OFF) {
        sl_got_patch_opened(handle);
        if (name && strncmp(name, "PyInit_", 7) == 0)
            sl_py_exit_register();
    }
    errno = saved_errno;
}

bool sl_recorder_is_armed(void) {
    return atomic_load(&rec.state) != STATE_OFF;
}

const char *sl_recorder_path(void) {
    return atomic_load(&rec.path);
}

const sl_record_settings *sl_recorder_settings(void) {
    return &rec.settings;
}

SL_HOT bool sl_recorder_wants_cpu(void) {
    return atomic_load_explicit(&rec.wants_cpu, memory_order_relaxed);
}

void sl_recorder_drop_cpu(void) {
    atomic_store(&rec.wants_cpu, false);
}
