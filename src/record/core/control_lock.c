/* SPDX-License-Identifier: MIT */
#include "record/core/control_lock.h"

#include <pthread.h>
#include <time.h>

/* Recursive: a handler of another library that runs during our fork may call us. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void sl_control_fill_mask(sigset_t *mask) {
    sigfillset(mask);
    sigdelset(mask, SIGBUS);
}

/* Before the lock is taken (C4). */
static void harden(sl_control *before) {
    sigset_t mask;
    sl_control_fill_mask(&mask);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
    pthread_sigmask(SIG_BLOCK, &mask, &before->mask);
}

void sl_control_relax(const sl_control *before) {
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
    pthread_setcancelstate(before->cancel_state, NULL);
}

void sl_control_take(sl_control *before) {
    harden(before);
    pthread_mutex_lock(&lock);
}

bool sl_control_take_within(sl_control *before, unsigned limit_ms) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += limit_ms / 1000;
    harden(before);
    if ((limit_ms ? pthread_mutex_timedlock(&lock, &end) : pthread_mutex_trylock(&lock)) == 0)
        return true;
    sl_control_relax(before);
    return false;
}

bool sl_control_try(sl_control *before) {
    return sl_control_take_within(before, 0);
}

void sl_control_give_lock(void) {
    pthread_mutex_unlock(&lock);
}

void sl_control_give(const sl_control *before) {
    sl_control_give_lock();
    sl_control_relax(before);
}

void sl_control_after_fork_child(void) {
    static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    lock = fresh;
}
