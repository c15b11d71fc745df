/* SPDX-License-Identifier: MIT */
#include "record/core/record_helper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/sys.h"
#include "counters/small_file.h"
#include "record/core/control_lock.h"

#define TICK_MS      10
/* How often the reader checks whether only these two threads are left. */
#define ALONE_MS     500
/* How long to wait for a thread that seems stuck; it may only be slow. */
#define STUCK_MS     20
/* A tenth of a second at the most; a few microseconds as a rule. */
#define GONE_TURNS   5000
#define GONE_WAIT_US 20
/* The libraries' thread-local variables are taken from it; torch's are many. */
#define STACK_BYTES  (1024 * 1024)

typedef enum helper_life {
    LIFE_NONE,
    LIFE_RUNNING,
    LIFE_STOPPING, /* was asked to stop but did not stop in time */
} helper_life;

/* One of the two threads. */
typedef struct worker {
    pthread_t thread;
    atomic_int tid; /* 0 = not started */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool must_stop; /* under lock */
    bool has_left;  /* under lock: it will not look at must_stop again */
    sl_helper_task tasks[SL_HELPER_TASK_MAX];
    uint64_t due_ms[SL_HELPER_TASK_MAX];
    size_t task_cnt;
} worker;

static worker helper = {.lock = PTHREAD_MUTEX_INITIALIZER};
static worker reader = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* the helper's */
static atomic_bool has_reader;
static _Atomic(helper_life) life; /* of the helper; changed under the control lock only */

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct timespec deadline_in(clockid_t clock, unsigned ms) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void run_due_tasks(worker *own) {
    uint64_t now = now_ms();
    for (size_t i = 0; i < own->task_cnt; i++)
        if (now >= own->due_ms[i]) {
            own->tasks[i].run();
            own->due_ms[i] = now + own->tasks[i].period_ms;
        }
}

static void tell_to_stop(worker *own) {
    pthread_mutex_lock(&own->lock);
    own->must_stop = true;
    pthread_cond_signal(&own->wake);
    pthread_mutex_unlock(&own->lock);
}

static void work(worker *own) {
    atomic_store(&own->tid, (int)syscall(SYS_gettid));
    pthread_mutex_lock(&own->lock);
    while (!own->must_stop) {
        pthread_mutex_unlock(&own->lock);
        run_due_tasks(own);
        pthread_mutex_lock(&own->lock);
        struct timespec deadline = deadline_in(CLOCK_MONOTONIC, TICK_MS);
        if (!own->must_stop)
            pthread_cond_timedwait(&own->wake, &own->lock, &deadline);
    }
    own->has_left = true;
    pthread_mutex_unlock(&own->lock);
}

static bool make_thread(worker *own, void *(*main)(void *)) {
    pthread_attr_t attr;
    sigset_t mask, before;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sl_control_fill_mask(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
    bool is_made = pthread_create(&own->thread, &attr, main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return is_made;
}

/* Waits by the monotonic clock: a clock set back must not stop the maintenance. */
static void init_worker(worker *own) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&own->wake, &attr);
    pthread_condattr_destroy(&attr);
    own->must_stop = own->has_left = false;
    atomic_store(&own->tid, 0);
    own->task_cnt = 0;
    memset(own->due_ms, 0, sizeof own->due_ms);
}

static void add_task(worker *own, const sl_helper_task *task) {
    if (own->task_cnt < SL_HELPER_TASK_MAX)
        own->tasks[own->task_cnt++] = *task;
}

/* --- The reader --------------------------------------------------------------------------------- */

/* A process ends with its last thread, also when main has called pthread_exit: the helper must not be what
 * keeps it alive. /proc/self is the first thread, a zombie once main has ended; it still counts. */
static void leave_if_alone(void) {
    char text[512], state = 0;
    long thread_cnt = 0;
    const char *rest =
        sl_small_file_read("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (rest)
        sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &state, &thread_cnt);
    if (state == 'Z' && thread_cnt == 2 + atomic_load(&has_reader))
        tell_to_stop(&helper);
}

/* A new table with nothing in it. Where the kernel (before 5.9) or a filter refuses, the program's is used: own_fd.h
 * does what can be done then. */
static void take_own_descriptors(void) {
#if defined(SYS_close_range)
    (void)syscall(SYS_close_range, 0u, ~0u, 2u /* CLOSE_RANGE_UNSHARE */);
#endif
}

static void *reader_main(void *unused) {
    SL_UNUSED(unused);
    pthread_setname_np(pthread_self(), "stormlog-read");
    take_own_descriptors();
    work(&reader);
    return NULL;
}

/* --- The helper --------------------------------------------------------------------------------- */

/* Where this returns as the last thread, libc calls exit(0), as it would after the program's last one, with the
 * program's descriptors. */
static void *helper_main(void *unused) {
    SL_UNUSED(unused);
    pthread_setname_np(pthread_self(), "stormlog");
    /* Where no second thread can be made, the helper reads the files itself. */
    atomic_store(&has_reader, make_thread(&reader, reader_main));
    for (size_t i = 0; !has_reader && i < reader.task_cnt; i++)
        add_task(&helper, &reader.tasks[i]);
    work(&helper);
    if (has_reader) {
        tell_to_stop(&reader);
        pthread_join(reader.thread, NULL);
    }
    return NULL;
}

/* A thread that did not stop in time is asked to continue, or joined if it has already left its
 * loop. */
static void settle(void) {
    if (life != LIFE_STOPPING)
        return;
    pthread_mutex_lock(&helper.lock);
    bool goes_on = !helper.has_left;
    if (goes_on)
        helper.must_stop = false;
    pthread_mutex_unlock(&helper.lock);
    if (!goes_on)
        pthread_join(helper.thread, NULL);
    life = goes_on ? LIFE_RUNNING : LIFE_NONE;
}

bool sl_helper_start(const sl_helper_task *tasks, size_t task_cnt) {
    static const sl_helper_task look = {leave_if_alone, ALONE_MS, true};
    settle();
    if (life == LIFE_RUNNING)
        return true;
    init_worker(&helper);
    init_worker(&reader);
    for (size_t i = 0; i < task_cnt; i++)
        add_task(tasks[i].reads_files ? &reader : &helper, &tasks[i]);
    add_task(&reader, &look);
    life = make_thread(&helper, helper_main) ? LIFE_RUNNING : LIFE_NONE;
    return life == LIFE_RUNNING;
}

/* A thread that was joined is still counted for a moment, and Python counts after a fork. */
static void wait_until_uncounted(const worker *own) {
    int tid = atomic_load(&own->tid);
    for (unsigned turn = 0; tid && sl_sys_thread_alive(tid) == 1 && turn < GONE_TURNS; turn++)
        sl_clock_pause_us(GONE_WAIT_US);
}

static bool wait_for_end(unsigned limit_ms, bool (*is_stuck)(void)) {
    for (unsigned waited = 0; waited < limit_ms; waited += STUCK_MS) {
        struct timespec deadline = deadline_in(CLOCK_REALTIME, STUCK_MS);
        if (pthread_timedjoin_np(helper.thread, NULL, &deadline) == 0) {
            wait_until_uncounted(&reader);
            wait_until_uncounted(&helper);
            return true;
        }
        if (is_stuck && is_stuck())
            return false;
    }
    return false;
}

bool sl_helper_stop(unsigned limit_ms, bool (*is_stuck)(void)) {
    if (life == LIFE_NONE)
        return true;
    tell_to_stop(&helper);
    bool is_self = pthread_equal(helper.thread, pthread_self()); /* the last thread: it exits */
    life = is_self || wait_for_end(limit_ms, is_stuck) ? LIFE_NONE : LIFE_STOPPING;
    return life == LIFE_NONE;
}

bool sl_helper_is_running(void) {
    return life == LIFE_RUNNING;
}

void sl_helper_after_fork_child(void) {
    pthread_mutex_init(&helper.lock, NULL);
    pthread_mutex_init(&reader.lock, NULL);
    life = LIFE_NONE;
}
