/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_loader.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct sl_loader {
    pthread_t thread;
    bool is_running; /* a thread was made and not joined */
    sl_load_kind kind;
    sl_load_job *job; /* owned by the thread until is_done */
    atomic_bool is_done;
    atomic_uint_fast64_t done, total;
    _Atomic(sl_tui_source *) first; /* owned; made by the thread, until it is taken */
    int wake[2];
};

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

static void wake(sl_loader *loader) {
    ssize_t ignored = write(loader->wake[1], "", 1);
    SL_UNUSED(ignored);
}

static void join(sl_loader *loader) {
    pthread_join(loader->thread, NULL);
    sl_tui_source_free(sl_loader_take_first(loader)); /* late: the whole is there */
    loader->is_running = false;
}

sl_tui_source *sl_loader_take_first(sl_loader *loader) {
    char byte;
    while (read(loader->wake[0], &byte, 1) > 0) /* before the rest is looked at: see wake */
        continue;
    return atomic_exchange(&loader->first, NULL);
}

void sl_loader_free(sl_loader *loader) {
    if (!loader)
        return;
    if (loader->is_running) {
        join(loader);
        sl_load_job_free(loader->job);
    }
    close(loader->wake[0]);
    close(loader->wake[1]);
    free(loader);
}

bool sl_loader_is_busy(const sl_loader *loader) {
    return loader->is_running;
}

static void note_progress(void *ctx, uint64_t done, uint64_t total) {
    sl_loader *loader = ctx;
    atomic_store_explicit(&loader->done, done, memory_order_relaxed);
    atomic_store_explicit(&loader->total, total, memory_order_relaxed);
}

static void keep_first(void *ctx, sl_tui_source *source) {
    sl_loader *loader = ctx;
    sl_tui_source_free(atomic_exchange(&loader->first, source));
    wake(loader);
}

static void *work(void *ctx) {
    sl_loader *loader = ctx;
    sl_load_job *job = loader->job;
    sl_tui_read_options options = {job->code, note_progress,
                                   job->kind == SL_LOAD_READ ? keep_first : NULL, loader};
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
    atomic_store(&loader->is_done, true);
    wake(loader);
    return NULL;
}

/* The main thread handles all signals. */
static bool make_thread(sl_loader *loader) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    loader->is_running = pthread_create(&loader->thread, NULL, work, loader) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return loader->is_running;
}

bool sl_loader_start(sl_loader *loader, const sl_load_job *job) {
    sl_load_job *own = loader->is_running ? NULL : malloc(sizeof *own);
    if (!own) {
        sl_tui_paths paths = job->paths;
        sl_tui_paths_free(&paths);
        return false;
    }
    *own = *job;
    loader->job = own;
    loader->kind = own->kind;
    atomic_store(&loader->is_done, false);
    note_progress(loader, 0, 0);
    if (make_thread(loader))
        return true;
    sl_load_job_free(own);
    return false;
}

sl_load_job *sl_loader_take(sl_loader *loader) {
    if (!loader->is_running || !atomic_load(&loader->is_done))
        return NULL;
    join(loader);
    return loader->job;
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
    *done = atomic_load_explicit(&loader->done, memory_order_relaxed);
    *total = atomic_load_explicit(&loader->total, memory_order_relaxed);
}

sl_load_kind sl_loader_kind(const sl_loader *loader) {
    return loader->kind;
}

int sl_loader_fd(const sl_loader *loader) {
    return loader->wake[0];
}
