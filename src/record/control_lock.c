/* SPDX-License-Identifier: MIT */
#include "record/control_lock.h"

#include <pthread.h>
#include <time.h>

/* Recursive: a handler of another library that runs during our fork may call us. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static sigset_t mask_before; /* of the holder; under the lock */
static unsigned depth;       /* under the lock */

void sl_control_fill_mask(sigset_t *mask) {
    sigfillset(mask);
    sigdelset(mask, SIGBUS);
}

/* Signals are blocked first (C4); the mask of before is kept by the outermost taker. */
static void note_taken(const sigset_t *before) {
    if (depth++ == 0)
        mask_before = *before;
}

void sl_control_take(void) {
    sigset_t mask, before;
    sl_control_fill_mask(&mask);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    pthread_mutex_lock(&lock);
    note_taken(&before);
}

bool sl_control_take_within(unsigned limit_ms) {
    sigset_t mask, before;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += limit_ms / 1000;
    sl_control_fill_mask(&mask);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    if ((limit_ms ? pthread_mutex_timedlock(&lock, &end) : pthread_mutex_trylock(&lock)) == 0) {
        note_taken(&before);
        return true;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return false;
}

bool sl_control_try(void) {
    return sl_control_take_within(0);
}

void sl_control_give(void) {
    bool is_last = --depth == 0;
    sigset_t before = mask_before;
    pthread_mutex_unlock(&lock);
    if (is_last)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sl_control_after_fork_child(bool is_held) {
    static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    sigset_t before = mask_before;
    lock = fresh;
    depth = 0;
    if (is_held)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}
