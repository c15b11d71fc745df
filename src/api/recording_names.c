/* SPDX-License-Identifier: MIT */
#include "api/recording_names.h"

#include <string.h>
#include <sys/stat.h>

/* Bytes of the name before this ending; 0 when it has another one. */
static size_t stem_len(const char *name, const char *end) {
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcmp(name + len - end_len, end) == 0 ? len - end_len : 0;
}

static const char *const packed_ends[] = {".slog.zst", ".slog.xz", ".slog.gz"};

size_t sl_recording_packed_stem(const char *name) {
    size_t len = 0;
    for (size_t i = 0; i < SL_COUNT_OF(packed_ends) && !len; i++)
        len = stem_len(name, packed_ends[i]);
    return len;
}

bool sl_recordings_is_name(const char *name) {
    return stem_len(name, SL_RECORDING_END) > 0 || sl_recording_packed_stem(name) > 0;
}

/* A pipe, a device or a folder may have such a name, too; opening a pipe would wait for a writer. */
bool sl_recordings_is_file(int folder_fd, const char *name) {
    struct stat info;
    return sl_recordings_is_name(name) && fstatat(folder_fd, name, &info, 0) == 0 &&
           S_ISREG(info.st_mode);
}
