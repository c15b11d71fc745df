/* SPDX-License-Identifier: MIT
 *
 * Every system call of the log is made to fail: for each entry of the table in base/core/sys.h,
 * each error it may give, and each n, the n-th such call of one whole life of a log (create, write,
 * grow, close, open, read, fsck, compact). Whatever happens, nothing crashes; what fails says why;
 * a log that could be created is whole when the faults are over, unless its own closing was what
 * failed; and a log that could not be created leaves no file behind.
 *
 * usage: fault_log FOLDER
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "log/compact/log_compact.h"
#include "log/read/log_fsck.h"
#include "log_fixture.h"

static sl_sys_call faulty_call;
static int fault_errno; /* negative: half of the bytes */
static long countdown;  /* calls before the fault; below 0 = it has happened */

/* unlink is only called when creating fails, so something else has to fail before it. */
static int fault(sl_sys_call call) {
    if (faulty_call == SL_SYS_UNLINK && call == SL_SYS_FTRUNCATE && countdown == 0)
        return EIO;
    /* An old kernel: space is then reserved through a descriptor. */
    if (faulty_call == SL_SYS_FALLOCATE && call == SL_SYS_MADVISE)
        return EINVAL;
    if (call != faulty_call || countdown < 0)
        return 0;
    return countdown-- == 0 ? fault_errno : 0;
}

static char why[600];

#define MUST(condition, ...)                        \
    do {                                            \
        if (!(condition)) {                         \
            snprintf(why, sizeof why, __VA_ARGS__); \
            return false;                           \
        }                                           \
    } while (0)

/* Enough events for every list, and for the regions to grow. */
static void write_events(sl_log *log) {
    static fixture_thread sequence;
    uint32_t stacks[FIXTURE_STACKS];
    sequence = (fixture_thread){0};
    fixture_stacks(log, stacks);
    for (int i = 0; i < 20000; i++) {
        fixture_event e = fixture_next(&sequence);
        fixture_write(log, stacks, &e);
    }
    for (int i = 0; i < 30000; i++) { /* strings fill the first piece of their region */
        char name[32];
        int len = snprintf(name, sizeof name, "a name of some length %d", i);
        sl_log_string(log, name, (size_t)len);
        if (i % 1000 == 0)
            sl_log_maintain(log);
    }
    sl_log_step(log, 1, 0);
    sl_log_oom_add(log, &(sl_log_oom){.device = 0, .requested = 1});
    sl_log_maintain(log);
}

/* SL_OK, or what went wrong; every failure must have a text. */
static sl_status read_log(const char *path, sl_fsck_report *report, sl_error *err) {
    sl_log_reader *reader;
    SL_TRY(sl_log_open(path, &reader, err));
    sl_status status = sl_log_fsck(reader, report, err);
    sl_log_reader_close(reader);
    return status;
}

static bool check_whole(const char *path) {
    sl_error err = SL_ERROR_INIT;
    sl_fsck_report report;
    MUST(read_log(path, &report, &err) == SL_OK, "afterwards: %s", err.text);
    bool has_problem = report.problems.cnt > 0;
    uint64_t events = report.events + report.lost;
    if (has_problem)
        snprintf(why, sizeof why, "afterwards: %s", report.problems.at[0].text);
    sl_log_fsck_fini(&report);
    MUST(has_problem || events == 20002, "afterwards: %llu events", (unsigned long long)events);
    return !has_problem;
}

/* Only those that compacting makes: each time syncs a file. */
static bool is_compacting_call(void) {
    return faulty_call == SL_SYS_OPEN || faulty_call == SL_SYS_CLOSE ||
           faulty_call == SL_SYS_FSTAT || faulty_call == SL_SYS_LOCK || faulty_call == SL_SYS_PREAD;
}

static bool live_once(const char *path) {
    sl_error err = SL_ERROR_INIT;
    sl_log *log;
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .ring_bytes = 2u << 20,
                              .chunk_bytes = 4096,
                              .live_cap = 64,
                              .live_levels = 6,
                              .string_bytes = 2u << 20,
                              .curve_bins = 64,
                              .alert_cap = 16};
    sl_sys_set_fault(fault);
    sl_status status = sl_log_create(&options, &log, &err);
    if (status < 0) {
        sl_sys_set_fault(NULL);
        MUST(err.text[0], "create failed without a word");
        MUST(access(path, F_OK) != 0 || faulty_call == SL_SYS_UNLINK || status == SL_E_BUSY,
             "a file was left behind: %s", err.text);
        return true;
    }
    write_events(log);
    sl_log_close(log);
    sl_fsck_report report;
    if (read_log(path, &report, &err) >= 0)
        sl_log_fsck_fini(&report);
    else
        MUST(err.text[0], "reading failed without a word");
    err = (sl_error)SL_ERROR_INIT;
    if (is_compacting_call() && sl_log_compact(path, NULL, &(sl_compact_result){0}, &err) < 0)
        MUST(err.text[0], "compacting failed without a word");
    sl_sys_set_fault(NULL);
    return check_whole(path);
}

static int point_cnt, failed;

/* All n for one call and one error; the last life is the one in which it did not happen any more. */
static void fail_every(const char *path, sl_sys_call call, int error) {
    bool is_fine = true;
    long n = 0;
    faulty_call = call;
    fault_errno = error;
    for (;; n++) {
        unlink(path);
        countdown = n;
        is_fine = live_once(path);
        if (!is_fine || countdown >= 0 || n > 100000)
            break;
        if (n > 40) /* the many reads of one kind: every call at first, then ever fewer */
            n += n / 4;
    }
    unlink(path);
    printf("%s %d - %s fails with %s, each of its %ld calls\n", is_fine ? "ok" : "not ok",
           ++point_cnt, sl_sys_name(call), error < 0 ? "half of the bytes" : strerrorname_np(error),
           n);
    if (!is_fine)
        printf("# call %ld: %s\n", n, why), failed++;
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const struct {
        sl_sys_call call;
        int errors[4];
    } rows[] = {
        {SL_SYS_OPEN, {EACCES, EMFILE}},
        {SL_SYS_CLOSE, {EIO}},
        {SL_SYS_LIFT, {EMFILE, EINVAL}},
        {SL_SYS_FSTAT, {EIO}},
        {SL_SYS_LOCK, {ENOLCK, EAGAIN}},
        {SL_SYS_FTRUNCATE, {EIO, EFBIG}},
        {SL_SYS_FALLOCATE, {ENOSPC, EIO, EOPNOTSUPP}},
        {SL_SYS_GETRLIMIT, {EPERM}},
        {SL_SYS_MMAP, {ENOMEM}},
        {SL_SYS_MUNMAP, {ENOMEM}},
        {SL_SYS_MADVISE, {EINVAL, EFAULT, EPERM}},
        {SL_SYS_PREAD, {EIO, -1}},
        {SL_SYS_PWRITE, {ENOSPC, -1}},
        {SL_SYS_UNLINK, {EPERM}},
        {SL_SYS_THREAD_ALIVE, {EPERM}},
    };
    _Static_assert(SL_COUNT_OF(rows) == SL_SYS_LIMIT, "every call of the table has a row");
    static char path[4096];
    if (argc != 2)
        return 2;
    /* Hundreds of files that live for a moment: in memory where that is possible. */
    snprintf(path, sizeof path, "%s/fault-%d.slog",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : argv[1], (int)getpid());
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        for (size_t e = 0; e < 4 && rows[i].errors[e]; e++)
            fail_every(path, rows[i].call, rows[i].errors[e]);
    printf("1..%d\n", point_cnt);
    return failed > 0;
}
