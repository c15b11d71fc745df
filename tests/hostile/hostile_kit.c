/* SPDX-License-Identifier: MIT
 *
 * Events for Python programs, made in native code without the GIL; for ctypes.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

#define EXPORT      __attribute__((visibility("default")))
#define THREADS_MAX 64

static pthread_t spinning[THREADS_MAX];
static int spinning_cnt;

EXPORT void kit_churn(long count, uint64_t base) {
    churn(count, base);
}

EXPORT void kit_hold(long count, uint64_t base) {
    hold(count, base);
}

EXPORT void kit_oom(long count) {
    for (long i = 0; i < count; i++)
        fake_oom((int64_t)1 << 50, 512, 2 << 20, 0);
}

EXPORT void kit_start(int count) {
    atomic_store(&is_over, 0);
    spinning_cnt = count < THREADS_MAX ? count : THREADS_MAX;
    start_threads(spinning, spinning_cnt);
}

EXPORT void kit_stop(void) {
    end_threads(spinning, spinning_cnt);
}

/* Allocates in the calling thread until kit_stop(), or for ever. */
EXPORT void kit_spin(int number) {
    spin((void *)(uintptr_t)(number + 100));
}

static int rounds;
static atomic_int failures;

static void *fork_rounds(void *arg) {
    (void)arg;
    for (int i = 0; i < rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            churn(20, 0x5000000);
            _exit(0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            atomic_fetch_add(&failures, 1);
    }
    return NULL;
}

/* Forks from several threads at once; returns how many children did not end with 0. */
EXPORT int kit_fork_storm(int threads, int count) {
    pthread_t forking[THREADS_MAX];
    rounds = count;
    atomic_store(&failures, 0);
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (int i = 0; i < threads; i++)
        pthread_create(&forking[i], NULL, fork_rounds, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(forking[i], NULL);
    return atomic_load(&failures);
}
