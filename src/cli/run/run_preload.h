/* SPDX-License-Identifier: MIT */
/* The loader's list of libraries for the command that `stormlog run` starts. */
#ifndef SL_RUN_PRELOAD_H
#define SL_RUN_PRELOAD_H

#define SL_PRELOAD_NAME "libstormlog_record.so"

/* `library` first, because the names it exports must win, then the entries of `before` (LD_PRELOAD;
 * may be NULL) in their order. Entries of the recorder's file name are left out, wherever they come
 * from: a run inside a run, or another installation, would put two recorders into one process.
 * Owned by the caller; NULL when memory ran out. */
char *sl_preload_list(const char *library, const char *before);

#endif
