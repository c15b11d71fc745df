/* SPDX-License-Identifier: MIT */
/* The file below a log, in a process that is somebody else's.
 *
 * (F1) A log has no descriptor. One exists only inside the functions below (base/files/own_fd.h).
 * (F2) The file is found again by its path, and used only if device and inode are the same.
 * (F3) The mapping keeps the open file alive, and with it the write lock that tells readers that
 *      the writer lives. A fork does not copy the mapping.
 *
 * Space is reserved through the mapping (MADV_POPULATE_WRITE), which needs no descriptor; only
 * where the kernel does not have that, or a filter forbids it, the file is opened again. */
#ifndef SL_LOG_FILE_H
#define SL_LOG_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "base/core/status.h"

typedef struct sl_log_file {
    char path[PATH_MAX]; /* absolute, as far as it could be made so */
    dev_t device;
    ino_t inode;
    bool is_known;     /* device and inode are set */
    bool is_fork_free; /* a child of fork does not have the mapping */
    uint8_t *map;
    size_t map_bytes;
} sl_log_file;

typedef struct sl_log_file_wish {
    const char *path;
    uint64_t bytes;
    mode_t mode;
    bool overwrite; /* a file that nobody writes may be replaced */
} sl_log_file_wish;

/* Makes the file and maps it; the first `head_bytes` have their space on disk. After a failure
 * nothing is left behind. SL_E_BUSY when another process writes it. */
sl_status sl__file_create(sl_log_file *file, const sl_log_file_wish *wish, size_t head_bytes,
                          sl_error *err);

/* Gives a range its space on disk and in the page tables. -1 with errno when there is none. */
int sl__file_reserve(sl_log_file *file, uint64_t offset, uint64_t bytes);

/* Cuts the file to this size, if it is still to be found under its path. */
void sl__file_trim(const sl_log_file *file, uint64_t bytes);

/* Takes a range's space on disk back, through the mapping; its bytes are zeros afterwards. Nothing
 * where the file system cannot do that. */
void sl__file_release(const sl_log_file *file, uint64_t offset, uint64_t bytes);

/* Removes the name, if it still is that of this file. */
void sl__file_unlink(const sl_log_file *file);

void sl__file_unmap(sl_log_file *file);

/* In the child of a fork. `is_in_use`: the forking thread was interrupted in the middle of an event
 * and will go on with it, so there must be memory where the mapping was. */
void sl__file_after_fork_child(sl_log_file *file, bool is_in_use);

#endif
