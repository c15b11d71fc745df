/* SPDX-License-Identifier: MIT */
#include "cli/core/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text/human.h"
#include "base/text/term.h"

#define SECOND_NS        ((int64_t)1000000000)
#define FIRST_SHOW_NS    SECOND_NS
#define REDRAW_NS        (SECOND_NS / 5)
/* Less of a path says nothing. */
#define PATH_COLUMNS_MIN 10
/* Before this share is done, the time that is left is a guess. */
#define LEFT_FROM_SHARE  0.02

/* The one line of the process. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    pthread_t thread;
    sl_progress *innermost; /* under the lock */
    int64_t start_ns;       /* of the first stage of the process: those that follow make one wait */
    bool is_shown, is_ending, has_thread, is_forbidden;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static bool is_wanted(void) {
    const char *term = getenv("TERM");
    return !line.is_forbidden && isatty(STDERR_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

void sl_progress_allow(bool is_allowed) {
    line.is_forbidden = !is_allowed;
}

/* ---- the text ---- */

typedef struct writer {
    char *at;
    size_t used;
} writer;

static void put(writer *to, const char *fmt, ...) SL_PRINTF(2, 3);

static void put(writer *to, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(to->at + to->used, SL_PROGRESS_LINE_CAP - to->used, fmt, args);
    va_end(args);
    to->used += len > 0 ? (size_t)len : 0;
    if (to->used >= SL_PROGRESS_LINE_CAP)
        to->used = SL_PROGRESS_LINE_CAP - 1;
}

static void put_bytes(writer *to, uint64_t done, uint64_t total, double seconds) {
    char size[SL_HUMAN_CAP], rate[SL_HUMAN_CAP];
    if (total)
        put(to, "%.0f %% of %s", 100.0 * (double)done / (double)total, sl_human_bytes(size, total));
    else
        put(to, "%s", sl_human_bytes(size, done));
    if (seconds > 0 && done)
        put(to, ", %s/s", sl_human_bytes(rate, (uint64_t)((double)done / seconds)));
}

static void put_count(writer *to, const sl_progress *stage, uint64_t done, uint64_t total,
                      double seconds) {
    char part[SL_HUMAN_CAP], whole[SL_HUMAN_CAP];
    if (total)
        put(to, "%s of %s %s", sl_human_count(part, done), sl_human_count(whole, total),
            stage->object);
    else
        put(to, "%s %s", sl_human_count(part, done), stage->object);
    double rate = seconds > 0 ? (double)done / seconds : 0;
    if (rate >= 10)
        put(to, ", %s per second", sl_human_count(part, (uint64_t)rate));
    else if (rate > 0)
        put(to, ", %.2g per second", rate);
}

static const char *say_seconds(char text[SL_HUMAN_CAP], double seconds) {
    if (seconds >= 60)
        return sl_human_duration_us(text, (int64_t)(seconds + 0.5) * 1000000);
    snprintf(text, SL_HUMAN_CAP, "%.0f s", seconds);
    return text;
}

/* What is left, where the pace so far says something about it; else how long it has taken. */
static void put_time(writer *to, uint64_t done, uint64_t total, double seconds) {
    char text[SL_HUMAN_CAP];
    double share = total ? (double)done / (double)total : 0;
    bool is_told = share >= LEFT_FROM_SHARE && share < 1;
    put(to, "%s %s", say_seconds(text, is_told ? seconds / share - seconds : seconds),
        is_told ? "left" : "so far");
}

static void put_numbers(writer *to, const sl_progress *stage, double seconds) {
    uint64_t done = atomic_load_explicit(&stage->done, memory_order_relaxed);
    uint64_t total = atomic_load_explicit(&stage->total, memory_order_relaxed);
    bool is_known = done || total;
    if (is_known && stage->unit == SL_PROGRESS_BYTES)
        put_bytes(to, done, total, seconds);
    else if (is_known)
        put_count(to, stage, done, total, seconds);
    put(to, "%s", is_known ? ", " : "");
    put_time(to, done, total, seconds);
}

/* "judging 3 of 200 runs: " */
static void put_around(writer *to, const sl_progress *outer) {
    if (!outer)
        return;
    put_around(to, outer->around);
    put(to, "%s %llu of %llu %s: ", outer->verb,
        (unsigned long long)atomic_load_explicit(&outer->done, memory_order_relaxed) + 1,
        (unsigned long long)atomic_load_explicit(&outer->total, memory_order_relaxed),
        outer->object);
}

/* The path gives way to the numbers. */
void sl_progress_line(char text[SL_PROGRESS_LINE_CAP], const sl_progress *stage, int64_t elapsed_ns,
                      size_t columns) {
    char numbers[SL_PROGRESS_LINE_CAP] = "", path[256] = "";
    writer to = {text, 0}, tail = {numbers, 0};
    text[0] = '\0';
    put_numbers(&tail, stage, (double)elapsed_ns / (double)SECOND_NS);
    put_around(&to, stage->around);
    put(&to, "%s", stage->verb);
    size_t used = to.used + tail.used + strlen(" : ");
    if (stage->unit == SL_PROGRESS_BYTES && used + PATH_COLUMNS_MIN <= columns)
        sl_term_fit_path(path, sizeof path, stage->object, columns - used);
    put(&to, "%s%s: %s", *path ? " " : "", path, numbers);
    text[sl_term_fit(text, strlen(text), columns)] = '\0';
}

/* ---- the thread ---- */

static void erase(void) {
    if (line.is_shown && write(STDERR_FILENO, "\r\x1b[K", 4) < 0)
        return; /* the terminal is gone */
    line.is_shown = false;
}

static void draw(void) {
    char text[SL_PROGRESS_LINE_CAP], out[SL_PROGRESS_LINE_CAP + 8];
    int64_t now = now_ns();
    if (!line.innermost || now - line.start_ns < FIRST_SHOW_NS)
        return;
    /* One column stays free: a full line would wrap on some terminals. */
    sl_progress_line(text, line.innermost, now - line.innermost->start_ns,
                     sl_term_columns_of(stderr) - 1);
    int len = snprintf(out, sizeof out, "\r%s\x1b[K", text);
    line.is_shown = write(STDERR_FILENO, out, (size_t)len) > 0;
}

static void *watch(void *unused) {
    (void)unused;
    pthread_mutex_lock(&line.lock);
    while (!line.is_ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        int64_t next_ns = until.tv_nsec + REDRAW_NS;
        until.tv_sec += next_ns / SECOND_NS;
        until.tv_nsec = next_ns % SECOND_NS;
        pthread_cond_timedwait(&line.woken, &line.lock, &until);
        if (!line.is_ending)
            draw();
    }
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

/* Signals are the main thread's. */
static void start_thread(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    line.is_ending = false;
    line.has_thread = pthread_create(&line.thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sl_progress_begin(sl_progress *stage, sl_progress_unit unit, const char *verb,
                       const char *object) {
    pthread_mutex_lock(&line.lock);
    *stage = (sl_progress){.verb = verb,
                           .object = object,
                           .unit = unit,
                           .start_ns = now_ns(),
                           .around = line.innermost};
    line.innermost = stage;
    pthread_mutex_unlock(&line.lock);
    if (!stage->around && is_wanted()) {
        line.start_ns = line.start_ns ? line.start_ns : stage->start_ns;
        start_thread();
    }
}

void sl_progress_update(void *ctx, uint64_t done, uint64_t total) {
    sl_progress *stage = ctx;
    atomic_store_explicit(&stage->done, done, memory_order_relaxed);
    atomic_store_explicit(&stage->total, total, memory_order_relaxed);
}

void sl_progress_end(sl_progress *stage) {
    pthread_mutex_lock(&line.lock);
    line.innermost = stage->around;
    line.is_ending = !line.innermost;
    if (line.is_ending)
        erase();
    pthread_cond_signal(&line.woken);
    pthread_mutex_unlock(&line.lock);
    if (line.is_ending && line.has_thread)
        pthread_join(line.thread, NULL);
    line.has_thread = line.has_thread && !line.is_ending;
}

void sl_progress_hide(void) {
    pthread_mutex_lock(&line.lock);
    erase();
}

void sl_progress_show(void) {
    pthread_mutex_unlock(&line.lock);
}
