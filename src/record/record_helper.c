/* SPDX-License-Identifier: MIT */
#include "record/record_helper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "counters/small_file.h"
#include "record/control_lock.h"

#define TICK_MS     10
/* How often the helper looks whether it is the only thread left. */
#define ALONE_MS    500
/* How long a thread that is stuck is waited for all the same: it may only look so. */
#define STUCK_MS    20
/* The libraries' thread-local variables are taken from it; torch's are many. */
#define STACK_BYTES (1024 * 1024)

typedef enum helper_life {
    LIFE_NONE,
    LIFE_RUNNING,
    LIFE_STOPPING, /* was told to stop, and could not be waited for */
} helper_life;

typedef struct helper {
    pthread_t thread; /* to be joined, unless LIFE_NONE */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic(helper_life) life; /* changed under the control lock only */
    bool must_stop;            /* under lock */
    bool has_left;             /* under lock: it will not look at must_stop again */
    sl_helper_task tasks[SL_HELPER_TASK_MAX];
    uint64_t due_ms[SL_HELPER_TASK_MAX];
    size_t task_cnt;
} helper;

static helper own = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static void run_due_tasks(void) {
    uint64_t now = now_ms();
    for (size_t i = 0; i < own.task_cnt; i++)
        if (now >= own.due_ms[i]) {
            own.tasks[i].run();
            own.due_ms[i] = now + own.tasks[i].period_ms;
        }
}

/* A process ends with its last thread, also when main has called pthread_exit: the helper must not be what
 * keeps it alive. /proc/self is the first thread, a zombie once main has ended; it still counts. */
static bool is_alone(void) {
    char text[512];
    const char *rest =
        sl_small_file_read("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    char state = 0;
    long thread_cnt = 0;
    if (rest)
        sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &state, &thread_cnt);
    return state == 'Z' && thread_cnt == 2;
}

static bool must_leave(void) {
    static uint64_t next_look_ms; /* the helper's own */
    uint64_t now = now_ms();
    if (own.must_stop || now < next_look_ms)
        return own.must_stop;
    next_look_ms = now + ALONE_MS;
    return is_alone();
}

/* Where this returns as the last thread, libc calls exit(0), as it would after the program's last one. */
static void *helper_main(void *unused) {
    SL_UNUSED(unused);
    pthread_setname_np(pthread_self(), "stormlog");
    pthread_mutex_lock(&own.lock);
    while (!must_leave()) {
        pthread_mutex_unlock(&own.lock);
        run_due_tasks();
        pthread_mutex_lock(&own.lock);
        struct timespec deadline = deadline_in(CLOCK_MONOTONIC, TICK_MS);
        if (!own.must_stop)
            pthread_cond_timedwait(&own.wake, &own.lock, &deadline);
    }
    own.has_left = true;
    pthread_mutex_unlock(&own.lock);
    return NULL;
}

static bool make_thread(void) {
    pthread_attr_t attr;
    sigset_t mask, before;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sl_control_fill_mask(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
    bool is_made = pthread_create(&own.thread, &attr, helper_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return is_made;
}

/* Waits by the monotonic clock: a clock set back must not stop the maintenance. */
static void init_wake(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&own.wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* A thread that was told to stop and has not: it is told to go on, or, when it is past that, waited for. */
static void settle(void) {
    if (own.life != LIFE_STOPPING)
        return;
    pthread_mutex_lock(&own.lock);
    bool goes_on = !own.has_left;
    if (goes_on)
        own.must_stop = false;
    pthread_mutex_unlock(&own.lock);
    if (!goes_on)
        pthread_join(own.thread, NULL);
    own.life = goes_on ? LIFE_RUNNING : LIFE_NONE;
}

bool sl_helper_start(const sl_helper_task *tasks, size_t task_cnt) {
    settle();
    if (own.life == LIFE_RUNNING)
        return true;
    init_wake();
    own.must_stop = own.has_left = false;
    own.task_cnt = task_cnt < SL_HELPER_TASK_MAX ? task_cnt : SL_HELPER_TASK_MAX;
    memcpy(own.tasks, tasks, own.task_cnt * sizeof *tasks);
    memset(own.due_ms, 0, sizeof own.due_ms);
    own.life = make_thread() ? LIFE_RUNNING : LIFE_NONE;
    return own.life == LIFE_RUNNING;
}

static bool wait_for_end(unsigned limit_ms, bool (*is_stuck)(void)) {
    for (unsigned waited = 0; waited < limit_ms; waited += STUCK_MS) {
        struct timespec deadline = deadline_in(CLOCK_REALTIME, STUCK_MS);
        if (pthread_timedjoin_np(own.thread, NULL, &deadline) == 0)
            return true;
        if (is_stuck && is_stuck())
            return false;
    }
    return false;
}

bool sl_helper_stop(unsigned limit_ms, bool (*is_stuck)(void)) {
    if (own.life == LIFE_NONE)
        return true;
    pthread_mutex_lock(&own.lock);
    own.must_stop = true;
    pthread_cond_signal(&own.wake);
    pthread_mutex_unlock(&own.lock);
    bool is_own =
        pthread_equal(own.thread, pthread_self()); /* it ends the process, being its last thread */
    own.life = is_own || wait_for_end(limit_ms, is_stuck) ? LIFE_NONE : LIFE_STOPPING;
    return own.life == LIFE_NONE;
}

bool sl_helper_is_running(void) {
    return own.life == LIFE_RUNNING;
}

void sl_helper_after_fork_child(void) {
    pthread_mutex_init(&own.lock, NULL);
    own.life = LIFE_NONE;
}
