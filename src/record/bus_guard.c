/* SPDX-License-Identifier: MIT */
#include "record/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAUGHT_NO, CAUGHT_NOW, CAUGHT_DONE };

static _Atomic(uintptr_t) range_from;
static _Atomic(size_t) range_bytes;
static atomic_int caught;
static struct sigaction
    previous; /* what the program had; changed only while ours is not installed */

static bool is_in_range(const void *address) {
    uintptr_t from = atomic_load(&range_from), at = (uintptr_t)address;
    return from && at >= from && at - from < atomic_load(&range_bytes);
}

/* Threads that fault meanwhile try again until the first one is done. */
static bool replace_range(void) {
    int none = CAUGHT_NO;
    if (!atomic_compare_exchange_strong(&caught, &none, CAUGHT_NOW))
        return true;
    void *at =
        mmap((void *)atomic_load(&range_from), atomic_load(&range_bytes), PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    atomic_store(&caught, at == MAP_FAILED ? CAUGHT_NO : CAUGHT_DONE);
    return at != MAP_FAILED;
}

/* As the kernel would have done it: the fault comes again under the default action, a signal that was sent
 * is sent again. */
static void take_default(const siginfo_t *info) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(SIGBUS, &standard, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGBUS);
}

static void call_previous(int signal, siginfo_t *info, void *context) {
    struct sigaction to = previous;
    sigset_t before;
    if (to.sa_flags & (int)SA_RESETHAND) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(SIGBUS, &standard, NULL);
    }
    if (!(to.sa_flags & SA_NODEFER))
        sigaddset(&to.sa_mask, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &to.sa_mask, &before);
    if (to.sa_flags & SA_SIGINFO)
        to.sa_sigaction(signal, info, context);
    else
        to.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_bus(int signal, siginfo_t *info, void *context) {
    int saved_errno = errno;
    bool is_fault = info->si_code > 0;
    if (is_fault && is_in_range(info->si_addr) && replace_range())
        ;
    else if (!(previous.sa_flags & SA_SIGINFO) && previous.sa_handler == SIG_IGN && !is_fault)
        ;
    else if (!(previous.sa_flags & SA_SIGINFO) &&
             (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN))
        take_default(info);
    else
        call_previous(signal, info, context);
    errno = saved_errno;
}

static bool is_installed(void) {
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_bus;
}

/* SA_ONSTACK as the program's own would have it: a coroutine's small stack has no room for a handler. */
static void install(void) {
    struct sigaction ours = {.sa_sigaction = on_bus,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, NULL, &previous) == 0)
        sigaction(SIGBUS, &ours, NULL);
}

void sl_bus_guard_watch(void *from, size_t bytes) {
    atomic_store(&caught, CAUGHT_NO);
    atomic_store(&range_bytes, bytes);
    atomic_store(&range_from, (uintptr_t)from);
    if (!is_installed())
        install();
}

void sl_bus_guard_end(void) {
    atomic_store(&range_from, 0);
    if (is_installed())
        sigaction(SIGBUS, &previous, NULL);
}

bool sl_bus_guard_has_caught(void) {
    return atomic_load(&caught) == CAUGHT_DONE;
}

void sl_bus_guard_after_fork_child(void) {
    atomic_store(&range_from, 0);
    atomic_store(&caught, CAUGHT_NO);
}
