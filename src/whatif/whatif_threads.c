/* SPDX-License-Identifier: MIT */
/* Runs independent jobs in several threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "whatif/whatif_impl.h"

#define THREADS_MAX 8

typedef struct job_queue {
    sl_whatif_job job;
    void *with;
    size_t cnt;
    atomic_size_t next;
} job_queue;

typedef struct worker {
    job_queue *queue;
    pthread_t thread;
    sl_error err;
    sl_status status;
} worker;

static void *work(void *arg) {
    worker *self = arg;
    job_queue *queue = self->queue;
    for (size_t i; self->status == SL_OK && (i = atomic_fetch_add(&queue->next, 1)) < queue->cnt;)
        self->status = queue->job(queue->with, i, &self->err);
    return NULL;
}

sl_status sl__whatif_in_threads(size_t job_cnt, unsigned thread_cnt, sl_whatif_job job, void *with,
                                sl_error *err) {
    job_queue queue = {.job = job, .with = with, .cnt = job_cnt};
    worker *workers = calloc(THREADS_MAX, sizeof *workers);
    size_t cnt = sl_min_size(sl_min_size(thread_cnt, THREADS_MAX), job_cnt), started = 1;
    if (!workers)
        return sl_fail_no_memory(err, "the answer");
    for (size_t i = 0; i < THREADS_MAX; i++)
        workers[i].queue = &queue;
    while (started < cnt &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    work(&workers[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    sl_status status = SL_OK;
    for (size_t i = 0; i < started && status == SL_OK; i++) {
        status = workers[i].status;
        if (status < 0 && err)
            *err = workers[i].err;
    }
    free(workers);
    return status;
}
