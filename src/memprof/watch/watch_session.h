/* SPDX-License-Identifier: MIT */
/* One watching command from its start to its exit code: the watch, the file of its records, and
 * what is done when it has ended. */
#ifndef SL_WATCH_SESSION_H
#define SL_WATCH_SESSION_H

#include "memprof/watch/watch_options.h"

typedef struct sl_watch_session {
    sl_watch watch;
    sl_watch_log log;
} sl_watch_session;

/* Watches with these options; records are logged before the options' on_record gets them.
 * `finish` is called with options->ctx when the watch itself succeeded; it writes the file and
 * the summary. Returns its error, or the exit code: the command's own if there was one and it
 * has ended. */
int sl_watch_session_run(sl_watch_session *session, const char *output,
                         const sl_watch_options *options, sl_status (*finish)(void *, sl_error *),
                         sl_error *err);

/* Writes the records to the requested file; does nothing when no file was requested. */
sl_status sl_watch_session_save(sl_watch_session *session, const sl_opts *opts, sl_error *err);

/* GB for cards, MB for the host, as the Python tool prints them. */
double sl_watch_shown(const sl_watch *watch, int64_t bytes);
const char *sl_watch_unit(const sl_watch *watch);

/* Says that this program watches itself, when neither a process nor a command was given. */
void sl_watch_print_own(const sl_watch_options *options);

#endif
