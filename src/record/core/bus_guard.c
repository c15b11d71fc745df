/* SPDX-License-Identifier: MIT */
#include "record/core/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/hooks/hook_table.h"

enum { CAUGHT_NO, CAUGHT_NOW, CAUGHT_DONE };

static _Atomic(uintptr_t) range_from;
static _Atomic(size_t) range_bytes;
static atomic_int caught;
static atomic_bool is_on;    /* the kernel has our handler */
static atomic_int owner_pid; /* of the process that this memory belongs to */

/* The program's own handler as it sees it. Two copies: the unused one is written, then it becomes
 * the valid one. */
static struct sigaction users[2];
static atomic_uint users_turn;

static struct sigaction users_action(void) {
    return users[atomic_load(&users_turn) & 1];
}

static void set_users_action(const struct sigaction *action) {
    unsigned turn = atomic_load(&users_turn);
    users[(turn + 1) & 1] = *action;
    atomic_store(&users_turn, turn + 1);
}

static int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
    int (*original)(int, const struct sigaction *, struct sigaction *);
    *(void **)&original = sl_hook_original(SL_HOOK_sigaction);
    return original ? original(signal, action, old) : -1;
}

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
    real_sigaction(SIGBUS, &standard, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGBUS);
}

static void call_users(struct sigaction to, int signal, siginfo_t *info, void *context) {
    sigset_t before;
    if (to.sa_flags & (int)SA_RESETHAND)
        set_users_action(&(struct sigaction){.sa_handler = SIG_DFL});
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
    struct sigaction to = users_action();
    bool is_handled =
        (to.sa_flags & SA_SIGINFO) || (to.sa_handler != SIG_DFL && to.sa_handler != SIG_IGN);
    bool is_ignored = !is_handled && to.sa_handler == SIG_IGN && !is_fault;
    if (is_fault && is_in_range(info->si_addr) && replace_range())
        ;
    else if (is_handled)
        call_users(to, signal, info, context);
    else if (!is_ignored)
        take_default(info);
    errno = saved_errno;
}

static bool is_installed(void) {
    struct sigaction now;
    return real_sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_bus;
}

/* As the program's own would be called; without one on the alternate stack, where there is one: a coroutine's
 * small stack may have no room. */
static int install(const struct sigaction *users_own, struct sigaction *old) {
    bool is_theirs = (users_own->sa_flags & SA_SIGINFO) || users_own->sa_handler != SIG_DFL;
    int flags =
        is_theirs ? users_own->sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK | SA_RESTART;
    struct sigaction ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_NODEFER | flags};
    sigemptyset(&ours.sa_mask);
    return real_sigaction(SIGBUS, &ours, old);
}

/* --- What the program sees ---------------------------------------------------------------------- */

/* A child of vfork has handlers of its own, and its parent's memory. */
static bool is_ours_to_answer(int signal) {
    return SL_UNLIKELY(signal == SIGBUS) && atomic_load(&is_on) &&
           atomic_load(&owner_pid) == getpid();
}

int sl_hook_sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
    if (!is_ours_to_answer(signal))
        return real_sigaction(signal, action, old);
    struct sigaction before = users_action(), wanted;
    if (action) {
        wanted = *action; /* `old` may be the same struct */
        set_users_action(&wanted);
        install(&wanted, NULL);
    }
    if (old)
        *old = before;
    return 0;
}

sl_sighandler sl_hook_signal(int signal, sl_sighandler handler) {
    sl_sighandler (*original)(int, sl_sighandler);
    *(void **)&original = sl_hook_original(SL_HOOK_signal);
    if (!is_ours_to_answer(signal) || handler == SIG_ERR)
        return original ? original(signal, handler) : SIG_ERR;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, signal);
    sl_hook_sigaction(signal, &action, &old);
    return old.sa_handler;
}

void sl_bus_guard_prepare(void) {
    sl_hook_original(SL_HOOK_sigaction);
    sl_hook_original(SL_HOOK_signal);
}

/* --- Life --------------------------------------------------------------------------------------- */

void sl_bus_guard_watch(void *from, size_t bytes) {
    atomic_store(&owner_pid, getpid());
    atomic_store(&caught, CAUGHT_NO);
    atomic_store(&range_bytes, bytes);
    atomic_store(&range_from, (uintptr_t)from);
    struct sigaction now, old;
    if (is_installed() || real_sigaction(SIGBUS, NULL, &now) != 0)
        return;
    set_users_action(&now);
    bool is_done = install(&now, &old) == 0;
    if (is_done && old.sa_handler != now.sa_handler) /* another thread was quicker */
        set_users_action(&old);
    atomic_store(&is_on, is_done);
}

void sl_bus_guard_end(void) {
    atomic_store(&range_from, 0);
    struct sigaction to = users_action();
    if (atomic_exchange(&is_on, false) && is_installed())
        real_sigaction(SIGBUS, &to, NULL);
}

bool sl_bus_guard_has_caught(void) {
    return atomic_load(&caught) == CAUGHT_DONE;
}

void sl_bus_guard_after_fork_child(void) {
    atomic_store(&owner_pid, getpid());
    atomic_store(&range_from, 0);
    atomic_store(&caught, CAUGHT_NO);
}
