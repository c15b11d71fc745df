/* SPDX-License-Identifier: MIT */
/* The life of a recording inside the target process: ready, opened at the first memory event,
 * paused around fork, closed at exit or by stop.
 *
 * Event functions reach the log through sl_capture_begin; everything else here is control and
 * runs outside the steady state. Lock ranks (R4): state_lock is the only lock and is never held
 * while a hook's original is called. */
#ifndef SL_RECORDER_H
#define SL_RECORDER_H

#include "base/status.h"
#include "log/log_writer.h"
#include "record/guard.h"
#include "record/record_options.h"

extern _Atomic(sl_log *) sl_recorder_current; /* NULL: not open, paused or closed */

/* Takes the settings and waits for the first event. False when they say "nothing". */
bool sl_recorder_arm(const sl_record_settings *settings);

/* The log, opened now if this is the first event; NULL when nothing is recorded. Slow path of
 * sl_capture_begin; the caller is inside the guard. */
sl_log *sl_recorder_open(void);

/* Closes the log and the helper thread. Events that come later are not recorded. Idempotent. */
void sl_recorder_close(void);

/* The program has loaded this library: it is patched where it binds past the recorder. Not for the event
 * path. errno stays. */
void sl_recorder_note_library(void *handle);

/* Armed, open or paused. */
bool sl_recorder_is_armed(void);

/* Path of the open log, "" before the first event. Valid until the next arm. */
const char *sl_recorder_path(void);

const sl_record_settings *sl_recorder_settings(void);

/* Whether PyTorch's CPU allocator is recorded. */
bool sl_recorder_wants_cpu(void);

/* Around the record of one event. */
typedef struct sl_capture {
    sl_guard guard;
    sl_log *log;
} sl_capture;

static inline bool sl_capture_begin(sl_capture *capture) {
    if (SL_UNLIKELY(!sl_guard_enter(&capture->guard)))
        return false;
    capture->log = atomic_load_explicit(&sl_recorder_current, memory_order_acquire);
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
