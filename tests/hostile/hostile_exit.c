/* SPDX-License-Identifier: MIT
 *
 * Ends in the way its argument names, while two threads allocate.
 */
#include <signal.h>
#include <unistd.h>

#include "hostile.h"

static const char *how = "";
static char **arguments;
static pthread_t threads[2];
static void *volatile nowhere;

static int is(const char *name) {
    return strcmp(how, name) == 0;
}

static void allocate_late(void) {
    churn(1000, 0x20000000);
    puts("late");
    fflush(stdout);
}

static void leave_late(void) {
    churn(1000, 0x20000000);
    _exit(7);
}

__attribute__((destructor)) static void last(void) {
    if (is("destructor") || is("destructor_exit"))
        allocate_late();
    if (is("destructor_exit"))
        exit(8);
}

static void *call_exit(void *arg) {
    (void)arg;
    churn(1000, 0x21000000);
    exit(3);
}

static void *end_later(void *arg) {
    (void)arg;
    usleep(50000);
    churn(1000, 0x22000000);
    puts("the last thread");
    fflush(stdout);
    end_threads(threads, 2);
    return NULL;
}

static void late_thread(void) {
    pthread_t thread;
    atomic_store(&is_over, 1);
    if (pthread_create(&thread, NULL, spin, (void *)9) == 0)
        pthread_join(thread, NULL);
    allocate_late();
}

static void free_key(void *value) {
    (void)value;
    churn(100, 0x23000000);
}

static void *use_key(void *key) {
    pthread_setspecific(*(pthread_key_t *)key, key);
    churn(100, 0x24000000);
    return NULL;
}

static void use_keys(void) {
    static pthread_key_t key;
    pthread_key_create(&key, free_key);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, use_key, &key) == 0)
            pthread_join(thread, NULL);
    }
}

static void use_plugin(void) {
    const char *path = getenv("HOSTILE_PLUGIN");
    for (int i = 0; i < 3; i++) {
        void *plugin = dlopen(path, RTLD_NOW);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            exit(97);
        }
        if (i < 2)
            dlclose(plugin);
    }
}

static void end_by_call(void) {
    pthread_t thread;
    if (is("exit"))
        exit(3);
    if (is("_exit"))
        _exit(4);
    if (is("quick_exit")) {
        at_quick_exit(allocate_late);
        quick_exit(5);
    }
    if (is("exit_thread") || is("two_exits"))
        pthread_create(&thread, NULL, call_exit, NULL);
    if (is("exit_thread"))
        for (;;)
            pause();
    if (is("exec"))
        execv("/proc/self/exe", (char *[]){arguments[0], (char *)(uintptr_t) "exec_again", NULL});
}

static void end_by_signal(void) {
    if (is("abort"))
        abort();
    if (is("term"))
        raise(SIGTERM);
    if (is("kill"))
        raise(SIGKILL);
    if (is("segv"))
        *(volatile int *)nowhere = 1;
}

int main(int argc, char **argv) {
    how = argc > 1 ? argv[1] : "";
    arguments = argv;
    if (is("exec_again")) {
        begin();
        return 6;
    }
    if (is("atexit"))
        atexit(allocate_late);
    begin();
    start_threads(threads, 2);
    hold(1000, 0x100000000);
    if (is("atexit"))
        atexit(allocate_late);
    if (is("atexit_exit"))
        atexit(leave_late);
    if (is("late_thread"))
        atexit(late_thread);
    if (is("library_destructor"))
        use_plugin();
    if (is("thread_key"))
        use_keys();
    if (is("pthread_exit")) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_later, NULL);
        pthread_exit(NULL);
    }
    end_by_signal();
    end_by_call();
    return 3;
}
