/* SPDX-License-Identifier: MIT
 *
 * Signals of every kind while events come. Prints what it saw; that must not depend on a recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "hostile.h"

#define COROUTINES 50

static volatile sig_atomic_t hits;
static sigjmp_buf back;
static double seconds = 0.7;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void on_signal(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void set_timer(int which, long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(which, &timer, NULL);
}

static void event_in_handler(int number) {
    (void)number;
    int saved = errno;
    hits++;
    churn(1, 0x700000);
    errno = saved;
}

/* --- coroutines, with a handler on a stack of its own ------------------------------------------------------- */

static ucontext_t main_context, contexts[COROUTINES];
static int current;

static void coroutine(void) {
    for (;;) {
        churn(1, 0x900000 + (uint64_t)current * 4096);
        swapcontext(&contexts[current], &main_context);
    }
}

/* is_guarded: nothing is mapped below the stack. Else it is from malloc, or from mmap and may touch another one. */
static void make_coroutine(int i, int is_guarded) {
    size_t size = i % 2 ? 16384 : 65536, guard = 65536;
    char *memory =
        is_guarded ? mmap(NULL, size + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        : i % 3    ? malloc(size)
                   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (is_guarded) {
        memory += guard;
        mprotect(memory, size, PROT_READ | PROT_WRITE);
    }
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = memory;
    contexts[i].uc_stack.ss_size = size;
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], coroutine, 0);
}

static void use_alternate_stack(void) {
    stack_t stack = {.ss_size = 65536};
    stack.ss_sp =
        mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
}

static int run_coroutines(int is_guarded) {
    begin();
    use_alternate_stack();
    on_signal(SIGALRM, event_in_handler, SA_ONSTACK | SA_RESTART);
    set_timer(ITIMER_REAL, 200);
    for (int i = 0; i < COROUTINES; i++)
        make_coroutine(i, is_guarded);
    double begun = now();
    for (long n = 0; now() - begun < seconds || hits < 100; n++) {
        churn(1, 0x100000);
        current = (int)(n % COROUTINES);
        swapcontext(&main_context, &contexts[current]);
    }
    set_timer(ITIMER_REAL, 0);
    puts("coroutines ran, signals came");
    return 0;
}

static int run_coroutines_free(void) {
    return run_coroutines(0);
}

static int run_coroutines_guarded(void) {
    return run_coroutines(1);
}

/* --- handlers at any time ------------------------------------------------------------------------------------ */

static int run_in_malloc(void) {
    begin();
    on_signal(SIGALRM, event_in_handler, SA_RESTART);
    set_timer(ITIMER_REAL, 300);
    double begun = now();
    while (now() - begun < seconds || hits < 100) {
        void *blocks[64];
        for (int i = 0; i < 64; i++)
            blocks[i] = malloc(16 + 100 * (size_t)i);
        churn(1, 0x100000);
        for (int i = 0; i < 64; i++)
            free(blocks[i]);
    }
    set_timer(ITIMER_REAL, 0);
    puts("signals came inside malloc");
    return 0;
}

/* Not inside malloc, where torch's own allocators could not work either: making a thread allocates. */
static int run_first_in_handler(void) {
    int bad = 0;
    start_recording();
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            on_signal(SIGALRM, event_in_handler, SA_RESTART);
            set_timer(ITIMER_REAL, 100);
            while (hits < 20)
                continue;
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    printf("%d children of 20 failed\n", bad);
    return 0;
}

static int run_profile_storm(void) {
    pthread_t threads[2];
    begin();
    on_signal(SIGPROF, event_in_handler, SA_RESTART);
    set_timer(ITIMER_PROF, 100);
    start_threads(threads, 2);
    double begun = now();
    while (now() - begun < seconds || hits < 50)
        churn(10, 0x100000);
    end_threads(threads, 2);
    set_timer(ITIMER_PROF, 0);
    puts("SIGPROF came");
    return 0;
}

/* --- faults that the program handles itself -------------------------------------------------------------------- */

static int last_code;

static void jump_back(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    hits++;
    last_code = info->si_code;
    siglongjmp(back, 1);
}

static void fault(int number, volatile char *address) {
    struct sigaction action = {.sa_sigaction = jump_back, .sa_flags = SA_SIGINFO}, old;
    sigaction(number, &action, &old);
    printf("signal %d was handled by %s, flags %x\n", number,
           old.sa_handler == SIG_DFL   ? "nobody"
           : old.sa_handler == SIG_IGN ? "ignoring"
                                       : "somebody",
           (unsigned)old.sa_flags);
    for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(back, 1) == 0)
            *address = 1;
        churn(10, 0x100000);
    }
    printf("%d faults of 100, code %d\n", (int)hits, last_code);
    hits = 0;
    sigaction(number, &old, NULL);
}

static int run_own_faults(void) {
    int fd = open("own.dat", O_CREAT | O_RDWR, 0600);
    char *mapped = ftruncate(fd, 8192) == 0
                       ? mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (mapped == MAP_FAILED || ftruncate(fd, 0) != 0)
        return 1;
    char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin();
    hold(100000, 0x100000000);
    fault(SIGBUS, mapped);
    fault(SIGSEGV, closed);
    fault(SIGSEGV, (volatile char *)(uintptr_t)16);
    munmap(mapped, 8192);
    close(fd);
    return 0;
}

/* A handler that was there before the recorder, and a fault by default afterwards. */
static int run_bus_by_default(void) {
    int fd = open("own.dat", O_CREAT | O_RDWR, 0600);
    volatile char *mapped = ftruncate(fd, 4096) == 0
                                ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                : MAP_FAILED;
    begin();
    churn(100, 0x100000);
    if (ftruncate(fd, 0) != 0)
        return 1;
    *mapped = 1; /* ends the program */
    return 0;
}

/* --- what the program can ask ---------------------------------------------------------------------------------- */

static void print_state(const char *when) {
    sigset_t mask;
    stack_t stack;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigaltstack(NULL, &stack);
    printf("%s: stack %s %zu, blocked", when, stack.ss_flags & SS_DISABLE ? "none" : "own",
           stack.ss_size);
    for (int i = 1; i < 65; i++)
        if (sigismember(&mask, i) == 1)
            printf(" %d", i);
    printf(", handled");
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            printf(" %d:%x%s", i, (unsigned)action.sa_flags,
                   action.sa_handler == SIG_IGN ? "i" : "");
    }
    struct itimerval timer;
    getitimer(ITIMER_REAL, &timer);
    printf(", timer %ld\n", (long)timer.it_interval.tv_usec);
}

static void *print_in_thread(void *arg) {
    print_state(arg);
    churn(100, 0x100000);
    print_state(arg);
    return NULL;
}

static int run_state(void) {
    pthread_t thread;
    print_state("at first");
    begin();
    print_state("after the first event");
    use_alternate_stack();
    on_signal(SIGUSR1, event_in_handler, SA_ONSTACK);
    on_signal(SIGPIPE, SIG_IGN, 0);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    hold(300000, 0x100000000);
    usleep(100000);
    print_state("after the file has grown");
    pthread_create(&thread, NULL, print_in_thread, (void *)(uintptr_t) "in a thread");
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        churn(100, 0x100000);
        print_state("in a child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    churn(100, 0x100000);
    print_state("after a fork");
    return 0;
}

static int run_all_blocked(void) {
    sigset_t mask;
    sigfillset(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    begin();
    hold(300000, 0x100000000);
    kill(getpid(), SIGUSR1); /* nobody may take it: no thread of the program has it open */
    kill(getpid(), SIGTERM);
    usleep(100000);
    sigset_t pending;
    sigpending(&pending);
    printf("pending: %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGTERM));
    return 5;
}

static int run_children_ignored(void) {
    signal(SIGCHLD, SIG_IGN);
    begin();
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            churn(10, 0x100000);
            _exit(1);
        }
        churn(10, 0x100000);
        int status;
        int is_gone = waitpid(child, &status, 0) == -1 && errno == ECHILD;
        if (!is_gone)
            puts("a child was left");
    }
    puts("no child was left");
    return 0;
}

/* A child of vfork sets its own handlers back; the parent, whose memory it uses, keeps its own. */
static int run_vfork_handlers(void) {
    struct sigaction now;
    begin();
    on_signal(SIGBUS, event_in_handler, SA_RESTART);
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            struct sigaction standard = {.sa_handler = SIG_DFL};
            sigaction(SIGBUS, &standard, NULL);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
        churn(10, 0x100000);
    }
    sigaction(SIGBUS, NULL, &now);
    raise(SIGBUS);
    printf("the handler is %s, called %d times\n",
           now.sa_handler == event_in_handler ? "there" : "gone", (int)hits);
    return 0;
}

static volatile sig_atomic_t forks;

static void fork_in_handler(int number) {
    (void)number;
    int saved = errno;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid(child, NULL, 0);
    forks++;
    errno = saved;
}

static int run_fork_in_handler(void) {
    pthread_t threads[1];
    begin();
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    start_threads(threads, 1);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    on_signal(SIGALRM, fork_in_handler, SA_RESTART);
    set_timer(ITIMER_REAL, 3000);
    while (forks < 60)
        churn(100, 0x100000);
    set_timer(ITIMER_REAL, 0);
    end_threads(threads, 1);
    puts("forked in a handler");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    {"coroutines", run_coroutines_free},
    {"coroutines_guarded", run_coroutines_guarded},
    {"in_malloc", run_in_malloc},
    {"first_in_handler", run_first_in_handler},
    {"profile_storm", run_profile_storm},
    {"own_faults", run_own_faults},
    {"bus_by_default", run_bus_by_default},
    {"state", run_state},
    {"all_blocked", run_all_blocked},
    {"children_ignored", run_children_ignored},
    {"fork_in_handler", run_fork_in_handler},
    {"vfork_handlers", run_vfork_handlers},
};

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 2)
        seconds = atof(argv[2]);
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0)
            return scenarios[i].run();
    return 2;
}
