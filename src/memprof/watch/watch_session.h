/* SPDX-License-Identifier: MIT */
/* One watching command from its start to its exit code: the watch, the file its records go to, and
 * what happens when it ended. */
#ifndef SL_WATCH_SESSION_H
#define SL_WATCH_SESSION_H

#include "memprof/watch/watch_options.h"

typedef struct sl_watch_session {
    sl_watch watch;
    sl_watch_log log;
} sl_watch_session;

/* Watches with these options; what their on_record gets is in the log already. `finish` is called with
 * options->ctx when the watch itself went well; it writes the file and the summary. Returns its
 * error, or the exit code: the command's own where there was one and it has ended. */
int sl_watch_session_run(sl_watch_session *session, const char *output,
                         const sl_watch_options *options, sl_status (*finish)(void *, sl_error *),
                         sl_error *err);

/* The records as the file that was asked for; nothing when none was. */
sl_status sl_watch_session_save(sl_watch_session *session, const sl_opts *opts, sl_error *err);

/* Cards in GB, the host in MB, as the Python tool prints them. */
double sl_watch_shown(const sl_watch *watch, int64_t bytes);
const char *sl_watch_unit(const sl_watch *watch);

/* Where there is nothing to watch but this program. */
void sl_watch_print_own(const sl_watch_options *options);

#endif
