/* SPDX-License-Identifier: MIT */
/* The life of a recording inside the target process: armed, opened at the first memory event, closed at
 * exit or by stop; without its helper around a fork.
 *
 * Event functions reach the log through sl_capture_begin; everything else here is control, under the
 * control lock (control_lock.h), which events never wait for. */
#ifndef SL_RECORDER_H
#define SL_RECORDER_H

#include "base/core/status.h"
#include "log/write/log_writer.h"
#include "record/core/guard.h"
#include "record/core/record_options.h"

/* In a page of its own that every kind of fork empties, also one that no handler sees (_Fork, clone): a child
 * then finds no log instead of its parent's. */
typedef struct sl_recorder_page_t {
    _Alignas(
        4096) _Atomic(sl_log *) current; /* NULL: not open, or its helper is to be started first */
    atomic_bool is_here;                 /* false in a child that no handler has seen */
    char rest[4096 - 2 * sizeof(void *)];
} sl_recorder_page_t;

extern sl_recorder_page_t sl_recorder_page;

/* Takes the settings and waits for the first event. False when they say "nothing", when a recording is under
 * way, or when another copy of this library records. */
bool sl_recorder_arm(const sl_record_settings *settings);

/* After arming a process that already runs: puts the hooks in, and into the libraries that will come. */
void sl_recorder_patch(void);

/* The log, opened now if this is the first event; NULL when nothing is recorded. Slow path of
 * sl_capture_begin; the caller is inside the guard. */
sl_log *sl_recorder_open(void);

/* Closes the log and the helper thread. Events that come later are not recorded. Idempotent. Where somebody
 * keeps the lock for seconds nothing is done: the file is then left as after a kill. */
void sl_recorder_close(void);

/* The program asks a library it has loaded for this name. The library is patched where it binds past the
 * recorder; where the name is that of a Python module's start, the end of Python is watched from now on. Not
 * for the event path. errno stays. */
void sl_recorder_note_library(void *handle, const char *name);

/* Armed, open or paused. */
bool sl_recorder_is_armed(void);

/* Path of the newest log, "" before its first event. Not changed before the second start after this one. */
const char *sl_recorder_path(void);

const sl_record_settings *sl_recorder_settings(void);

/* Torch's CPU allocator has reported for the first time: its table is there, and must not be used once exit() has
 * destroyed it. */
void sl_recorder_watch_exit(void);

/* The program's work is over: Python's atexit callbacks have run, exit() has begun, or the recording is being
 * stopped, whichever comes first. Marks it once per recording; never opens one. Any thread, not inside the
 * guard. errno stays. */
void sl_recorder_end_work(void);

/* The process ends with this status, at once by _exit, or by exit: kept in the log, which stays open. Any thread, also from a signal handler; a child
 * of a vfork, which has this memory and is another process, leaves nothing. */
void sl_recorder_note_exit(int status, bool is_at_once);

/* A new life of the interpreter begins in the same process: its end is marked again. */
void sl_recorder_resume_work(void);

/* Whether PyTorch's CPU allocator is recorded. sl_recorder_drop_cpu turns that off until the process ends. */
bool sl_recorder_wants_cpu(void);
void sl_recorder_drop_cpu(void);

/* Around the record of one event. */
typedef struct sl_capture {
    sl_guard guard;
    sl_log *log;
} sl_capture;

static inline bool sl_capture_begin(sl_capture *capture) {
    if (SL_UNLIKELY(!sl_guard_enter(&capture->guard)))
        return false;
    capture->log = atomic_load_explicit(&sl_recorder_page.current, memory_order_acquire);
    if (SL_UNLIKELY(!capture->log) && !(capture->log = sl_recorder_open())) {
        sl_guard_leave(&capture->guard);
        return false;
    }
    return true;
}

static inline void sl_capture_end(const sl_capture *capture) {
    sl_guard_leave(&capture->guard);
}

#endif
