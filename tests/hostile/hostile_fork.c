/* SPDX-License-Identifier: MIT
 *
 * Every way to make a process, while two threads allocate.
 */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

extern char **environ;

static int wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static pid_t vfork_true(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return child;
}

static int run_vfork(void) {
    int bad = 0;
    for (int i = 0; i < 30; i++) {
        bad += wait_for(vfork_true()) != 0;
        churn(100, 0x100000);
    }
    return bad;
}

static int run_spawn(void) {
    int bad = 0;
    for (int i = 0; i < 30; i++) {
        pid_t child = 0;
        char *words[] = {(char *)(uintptr_t) "true", NULL};
        bad += posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) != 0 ||
               wait_for(child) != 0;
        churn(100, 0x100000);
    }
    return bad + (system("true") != 0);
}

/* The child of a child ends up alone, as a daemon does, and has its events there. */
static int run_daemon(void) {
    int pipes[2];
    if (pipe(pipes) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setsid();
            churn(1000, 0x100000);
            char word = 'd';
            _exit(write(pipes[1], &word, 1) == 1 ? 0 : 1);
        }
        _exit(0);
    }
    int status = wait_for(child);
    char word = 0;
    close(pipes[1]);
    return status + (read(pipes[0], &word, 1) != 1) + (word != 'd');
}

static int fork_many(int count, long events) {
    int bad = 0;
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            churn(events, 0x100000);
            _exit(0);
        }
        bad += wait_for(child) != 0;
    }
    return bad;
}

static int run_many(void) {
    return fork_many(200, 5);
}

/* Four more than the recorder takes. Children without events do not count. */
static int run_cap(void) {
    return fork_many(260, 0) + fork_many(260, 5);
}

/* Children of children, each with its own events. */
static int run_deep(void) {
    for (int depth = 0; depth < 12; depth++) {
        churn(50, 0x100000);
        pid_t child = fork();
        if (child != 0)
            return wait_for(child) != 0;
    }
    churn(50, 0x100000);
    _exit(0);
}

/* The child goes on with threads of its own. */
static int run_threads_in_child(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t threads[2];
        atomic_store(&is_over, 0);
        start_threads(threads, 2);
        hold(200000, 0x300000000);
        usleep(50000);
        end_threads(threads, 2);
        exit(0);
    }
    return wait_for(child);
}

/* Handlers that were registered before the recorder's, and allocate. */
static void event_in_fork(void) {
    churn(3, 0x700000);
}

__attribute__((constructor(101))) static void register_handlers(void) {
    if (getenv("HOSTILE_HANDLERS"))
        pthread_atfork(event_in_fork, event_in_fork, event_in_fork);
}

static int blocked_cnt(void) {
    sigset_t mask;
    int cnt = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 32; i++)
        cnt += sigismember(&mask, i) == 1;
    return cnt;
}

static int run_handlers(void) {
    int bad = 0;
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0) {
            churn(10, 0x100000);
            _exit(blocked_cnt());
        }
        bad += wait_for(child) != 0 || blocked_cnt() != 0;
    }
    return bad;
}

/* The first event of a process comes on a thread that is to be cancelled: it ends where it would
 * have ended, and nothing of the recorder's stays locked. */
static void *cancelled(void *done) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    churn(10, 0x200000);
    *(int *)done = 1;
    pthread_testcancel();
    return NULL;
}

static int run_cancel(void) {
    int bad = 0;
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            int done = 0;
            void *result = NULL;
            pthread_create(&thread, NULL, cancelled, &done);
            pthread_join(thread, &result);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                churn(10, 0x100000);
                _exit(0);
            }
            _exit(!done + 2 * (result != PTHREAD_CANCELED) + 4 * (wait_for(grandchild) != 0));
        }
        bad += wait_for(child) != 0;
    }
    return bad;
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    {"vfork", run_vfork},       {"spawn", run_spawn},   {"daemon", run_daemon},
    {"handlers", run_handlers}, {"cancel", run_cancel}, {"many", run_many},
    {"cap", run_cap},           {"deep", run_deep},     {"threads", run_threads_in_child},
};

int main(int argc, char **argv) {
    pthread_t threads[2];
    int thread_cnt = argc > 2 ? 0 : 2; /* a second argument: no threads beside */
    begin();
    start_threads(threads, thread_cnt);
    int bad = 99;
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0)
            bad = scenarios[i].run();
    hold(1000, 0x100000000);
    end_threads(threads, thread_cnt);
    printf("%d failed\n", bad);
    return 0;
}
