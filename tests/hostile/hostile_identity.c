/* SPDX-License-Identifier: MIT
 *
 * A program that changes who it is, what it may do and what it sees, before its first event or in
 * the middle. Prints what it finds; that must not depend on a recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

extern char **environ;

static const char *argument = "";
static char **arguments;
static int is_first;

/* Events enough that the file has to grow, a thread beside, and a child with its first event. */
static void work(void) {
    pthread_t thread;
    int has_thread = pthread_create(&thread, NULL, spin, (void *)1) == 0;
    hold(100000, 0x100000000);
    usleep(50000);
    hold(50000, 0x200000000);
    pid_t child = fork();
    if (child == 0) {
        churn(100, 0x100000);
        _exit(0);
    }
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    churn(100, 0x100000);
    atomic_store(&is_over, 1);
    if (has_thread)
        pthread_join(thread, NULL);
    printf("worked; thread %d, child %d with %d\n", has_thread, child > 0, status);
}

/* The argument says whether the change comes before the first event or after. */
static void begin_in_time(int is_now_first) {
    if (is_first == is_now_first)
        begin();
}

static int fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    return 77;
}

static int run_limit_fsize(void) {
    struct rlimit limit = {strtoul(argument, NULL, 10) * 1024, strtoul(argument, NULL, 10) * 1024};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return fail("setrlimit");
    begin();
    work();
    return 7;
}

static long mapped_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (file && fscanf(file, "%ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4096;
}

static int run_limit_as(void) {
    if (!getenv("HOSTILE_LATE"))
        begin();
    rlim_t room = strtoul(argument, NULL, 10) << 20;
    rlim_t all = (rlim_t)mapped_bytes() + room; /* asked once: the recorder maps meanwhile */
    struct rlimit limit = {all, all};
    void *own = malloc(room / 2); /* the program's own memory comes first */
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return fail("setrlimit");
    if (getenv("HOSTILE_LATE"))
        begin();
    hold(400000, 0x100000000);
    usleep(100000);
    churn(1000, 0x100000);
    puts(own ? "has its memory" : "has no memory");
    return 7;
}

static int run_nobody(void) {
    begin_in_time(0);
    if (chmod(".", 0777) != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 ||
        setuid(65534) != 0)
        return fail("setuid");
    begin_in_time(1);
    int fd = open("mine.dat", O_CREAT | O_RDWR, 0644);
    printf("%d %d %d\n", (int)getuid(), (int)geteuid(), fd >= 0);
    work();
    return 7;
}

static int run_chroot(void) {
    begin_in_time(0);
    if (mkdir("root", 0755) != 0 || chroot("root") != 0 || chdir("/") != 0)
        return fail("chroot");
    begin_in_time(1);
    printf("%d\n", access("/proc/self", F_OK));
    work();
    return 7;
}

static int run_folder_gone(void) {
    if (mkdir("gone", 0755) != 0 || chdir("gone") != 0)
        return fail("mkdir");
    begin_in_time(0);
    if (rmdir("../gone") != 0 && rmdir("/proc/self/cwd") != 0)
        puts("the folder stays");
    begin_in_time(1);
    char place[64];
    puts(getcwd(place, sizeof place) ? "has a folder" : strerror(errno));
    work();
    return 7;
}

static int run_no_new_privs(void) {
    begin_in_time(0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    begin_in_time(1);
    printf("%d %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    work();
    return 7;
}

static int run_no_threads(void) {
    begin_in_time(0);
    struct rlimit limit = {0, 0};
    /* root is not bound by the limit */
    if (setrlimit(RLIMIT_NPROC, &limit) != 0 || chmod(".", 0777) != 0 ||
        (getuid() == 0 && setuid(65534) != 0))
        return fail("setrlimit");
    begin_in_time(1);
    work();
    return 7;
}

static int run_no_proc(void) {
    begin_in_time(0);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/proc", "tmpfs", 0, "size=64k") != 0)
        return fail("mount");
    begin_in_time(1);
    printf("%d\n", access("/proc/self/maps", F_OK));
    work();
    return 7;
}

static int run_no_environment(void) {
    begin_in_time(0);
    if (is_first &&
        getenv("HOSTILE_LIBRARY")) /* started from inside it needs to know its library */
        begin();
    clearenv();
    if (is_first)
        churn(1, 0x100000);
    printf("%d %d\n", getenv("PATH") == NULL, environ == NULL);
    work();
    return 7;
}

/* What setproctitle does: the memory of arguments and environment becomes one long title. */
static int run_title(void) {
    begin_in_time(0);
    char *low = arguments[0], *high = low;
    for (char **word = arguments; *word; word++)
        high = *word + strlen(*word) + 1;
    for (char **word = environ; *word; word++)
        high = *word + strlen(*word) + 1;
    static char *copies[512];
    size_t n = 0;
    for (; environ[n] && n + 1 < 512; n++)
        copies[n] = strdup(environ[n]);
    environ = copies;
    memset(low, 'x', (size_t)(high - low) - 1);
    begin_in_time(1);
    work();
    char title[16] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    if (file && fread(title, 1, 15, file) == 15)
        puts(title);
    if (file)
        fclose(file);
    return 7;
}

static int run_locked(void) {
    begin_in_time(0);
    struct rlimit limit = {64 << 10, 64 << 10};
    if (mlockall(MCL_FUTURE) != 0 || setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        chmod(".", 0777) != 0 || (getuid() == 0 && setuid(65534) != 0))
        return fail("mlockall");
    begin_in_time(1);
    hold(300000,
         0x100000000); /* no thread: its stack could not be locked in the plain program either */
    usleep(100000);
    churn(1000, 0x100000);
    puts("locked");
    return 7;
}

static int run_facts(void) {
    umask(027);
    setpriority(PRIO_PROCESS, 0, 3);
    cpu_set_t cpus;
    begin();
    work();
    sched_getaffinity(0, sizeof cpus, &cpus);
    mode_t mask = umask(0);
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    printf("umask %o, nice %d, processors %d, name %s, files %lu\n", (unsigned)mask,
           getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus), name, (unsigned long)files.rlim_cur);
    umask(mask);
    int fd = open("mine.dat", O_CREAT | O_RDWR, 0666);
    return fd >= 0 ? 7 : 1;
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    {"limit_fsize", run_limit_fsize},
    {"limit_as", run_limit_as},
    {"nobody", run_nobody},
    {"chroot", run_chroot},
    {"folder_gone", run_folder_gone},
    {"no_new_privs", run_no_new_privs},
    {"no_threads", run_no_threads},
    {"no_proc", run_no_proc},
    {"no_environment", run_no_environment},
    {"title", run_title},
    {"locked", run_locked},
    {"facts", run_facts},
};

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    char name[32] = "";
    arguments = argv;
    if (argc > 1)
        snprintf(name, sizeof name, "%s", argv[1]);
    argument = argc > 2 ? argv[2] : "";
    is_first = strcmp(argument, "first") == 0; /* the change comes first, the recording second */
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, name) == 0)
            return scenarios[i].run();
    return 2;
}
