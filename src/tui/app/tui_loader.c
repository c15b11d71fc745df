/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_loader.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define WAIT_MS 50

/* A job and what its thread says about it. Shared by the thread and the loader; the last of them frees it. */
typedef struct run {
    sl_load_job *job; /* of the thread until is_done; NULL when it was taken */
    atomic_int owner_cnt;
    atomic_bool is_done;
    sl_stop_flag stop;
    atomic_uint_fast64_t done, total;
    _Atomic(sl_tui_source *) first; /* owned; made by the thread, until it is taken */
    int wake;                       /* owned: the loader may have closed its own */
} run;

struct sl_loader {
    run *run; /* NULL = idle */
    int wake[2];
};

static atomic_int thread_cnt;

bool sl_loader_has_thread(void) {
    return atomic_load(&thread_cnt) > 0;
}

sl_status sl_loader_new(sl_loader **out, sl_error *err) {
    sl_loader *loader = calloc(1, sizeof *loader);
    if (!loader)
        return sl_fail_no_memory(err, "the loader");
    if (pipe2(loader->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(loader);
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot make a pipe");
    }
    *out = loader;
    return SL_OK;
}

/* ---- runs ---- */

static void free_run(run *r) {
    sl_load_job_free(r->job);
    sl_tui_source_free(atomic_load(&r->first));
    if (r->wake >= 0)
        close(r->wake);
    free(r);
}

static void release(run *r) {
    if (atomic_fetch_sub(&r->owner_cnt, 1) == 1)
        free_run(r);
}

static void wake(const run *r) {
    ssize_t ignored = write(r->wake, "", 1);
    SL_UNUSED(ignored);
}

static void note_progress(void *ctx, uint64_t done, uint64_t total) {
    run *r = ctx;
    atomic_store_explicit(&r->done, done, memory_order_relaxed);
    atomic_store_explicit(&r->total, total, memory_order_relaxed);
}

static void keep_first(void *ctx, sl_tui_source *source) {
    run *r = ctx;
    sl_tui_source_free(atomic_exchange(&r->first, source));
    wake(r);
}

static void do_job(run *r) {
    sl_load_job *job = r->job;
    sl_tui_read_options options = {.code = job->code,
                                   .progress = note_progress,
                                   .first = job->kind == SL_LOAD_READ ? keep_first : NULL,
                                   .ctx = r,
                                   .stop = &r->stop};
    const char *const *paths = (const char *const *)job->paths.at;
    switch (job->kind) {
    case SL_LOAD_READ:
        job->status = sl_run_facts_read(paths, job->paths.cnt, &options, &job->inputs, &job->whole,
                                        &job->err);
        break;
    case SL_LOAD_WHATIF:
        job->status = sl_whatif_facts(job->asked, job->source, job->device, &job->question,
                                      &job->answer, &job->err);
        break;
    case SL_LOAD_JUDGE:
        job->status =
            sl_judge_facts(job->asked, job->since_us, job->until_us, &job->whole, &job->err);
        break;
    case SL_LOAD_COMPARE:
        job->status = sl_compare_facts(job->asked, job->source, paths, job->paths.cnt, &options,
                                       &job->compared, &job->err);
        break;
    }
}

static void *work(void *ctx) {
    run *r = ctx;
    do_job(r);
    atomic_store(&r->is_done, true);
    wake(r);
    release(r);
    atomic_fetch_sub(&thread_cnt, 1);
    return NULL;
}

/* The main thread handles all signals. Nobody joins the thread: it may outlive the wish for its job. */
static bool make_thread(run *r) {
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_fetch_add(&thread_cnt, 1);
    bool is_made = pthread_create(&thread, NULL, work, r) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (is_made)
        pthread_detach(thread);
    else
        atomic_fetch_sub(&thread_cnt, 1);
    return is_made;
}

/* ---- the loader ---- */

void sl_loader_free(sl_loader *loader) {
    if (!loader)
        return;
    while (loader->run && !atomic_load(&loader->run->is_done))
        poll(&(struct pollfd){.fd = loader->wake[0], .events = POLLIN}, 1, WAIT_MS);
    if (loader->run)
        release(loader->run);
    close(loader->wake[0]);
    close(loader->wake[1]);
    free(loader);
}

bool sl_loader_is_busy(const sl_loader *loader) {
    return loader->run;
}

bool sl_loader_start(sl_loader *loader, const sl_load_job *job) {
    run *r = loader->run ? NULL : calloc(1, sizeof *r);
    sl_load_job *own = r ? malloc(sizeof *own) : NULL;
    if (!own) {
        sl_tui_paths paths = job->paths;
        sl_tui_paths_free(&paths);
        free(r);
        return false;
    }
    *own = *job;
    r->job = own;
    r->wake = fcntl(loader->wake[1], F_DUPFD_CLOEXEC, 0);
    atomic_init(&r->owner_cnt, 2);
    if (r->wake < 0 || !make_thread(r)) {
        free_run(r);
        return false;
    }
    loader->run = r;
    return true;
}

bool sl_loader_drop(sl_loader *loader) {
    run *r = loader->run;
    if (!r || sl_loader_kind(loader) != SL_LOAD_READ)
        return false;
    r->stop = 1;
    loader->run = NULL;
    release(r);
    return true;
}

sl_tui_source *sl_loader_take_first(sl_loader *loader) {
    char byte;
    while (read(loader->wake[0], &byte, 1) > 0) /* before the rest is looked at: see wake */
        continue;
    return loader->run ? atomic_exchange(&loader->run->first, NULL) : NULL;
}

sl_load_job *sl_loader_take(sl_loader *loader) {
    run *r = loader->run;
    if (!r || !atomic_load(&r->is_done))
        return NULL;
    sl_load_job *job = r->job;
    r->job = NULL;
    loader->run = NULL;
    release(r);
    return job;
}

void sl_load_job_free(sl_load_job *job) {
    if (!job)
        return;
    sl_tui_source_free(job->whole);
    sl_tui_inputs_fini(&job->inputs);
    sl_tui_whatif_free(job->answer);
    sl_tui_comparison_free(job->compared);
    sl_tui_paths_free(&job->paths);
    free(job);
}

void sl_loader_progress(const sl_loader *loader, uint64_t *done, uint64_t *total) {
    const run *r = loader->run;
    *done = r ? atomic_load_explicit(&r->done, memory_order_relaxed) : 0;
    *total = r ? atomic_load_explicit(&r->total, memory_order_relaxed) : 0;
}

sl_load_kind sl_loader_kind(const sl_loader *loader) {
    return loader->run ? loader->run->job->kind : SL_LOAD_READ;
}

int sl_loader_fd(const sl_loader *loader) {
    return loader->wake[0];
}
