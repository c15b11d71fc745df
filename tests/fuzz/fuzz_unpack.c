/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a compressed recording: unpacked within bounds, opened, checked, loaded. The file is
 * real, as the readers want a path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log/read/log_fsck.h"
#include "read/core/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Beyond this only the decompressor itself would be fuzzed. */
#define SIZE_MAX_BYTES (64u << 10)

static void check(const char *path) {
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *reader;
    sl_fsck_report report;
    if (sl_log_open(path, &reader, &err) < 0)
        return;
    if (sl_log_fsck(reader, &report, &err) >= 0)
        sl_log_fsck_fini(&report);
    sl_log_reader_close(reader);
}

static void load(const char *path) {
    sl_error err = SL_ERROR_INIT;
    sl_trace *trace;
    if (sl_trace_load(path, NULL, &trace, &err) >= 0)
        sl_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    if (size > SIZE_MAX_BYTES)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check(path);
    load(path);
    close(fd);
    return 0;
}
