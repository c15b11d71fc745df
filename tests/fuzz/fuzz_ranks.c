/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the recordings of three ranks of a job: read by their heads, merged, and written in every form. The
 * checksum of the header is corrected first; otherwise every change of the header would be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log/layout/log_layout.h"
#include "ranks/fleet_format.h"
#include "slog_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_BYTES (256u << 10)
#define RANKS          3

/* A file without a name; -1 when there is none to be had. */
static int make_file(const uint8_t *bytes, size_t size) {
    int fd = memfd_create("rank.slog", 0);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void view(sl_fleet *fleet) {
    FILE *to = fopen("/dev/null", "w");
    sl_json_out json;
    if (!to)
        return;
    sl_fleet_text(to, fleet, true);
    sl_fleet_md(to, fleet, true);
    sl_fleet_html(to, fleet);
    sl_json_init(&json, to, 2);
    sl_json_begin_object(&json);
    sl_fleet_json(&json, fleet);
    sl_json_end_object(&json);
    fclose(to);
}

static void merge(uint8_t *bytes, size_t size) {
    char names[RANKS][32];
    const char *paths[RANKS];
    int fds[RANKS];
    bool are_made = true;
    for (int i = 0; i < RANKS; i++) {
        /* The first rank is as it comes; the others get numbers. */
        if (i > 0 && size >= 2 * sizeof(sl_fmt_header)) {
            sl_fmt_state *state = (sl_fmt_state *)(void *)(bytes + sizeof(sl_fmt_header));
            state->rank_word = (uint64_t)i;
        }
        fds[i] = make_file(bytes, size);
        are_made = are_made && fds[i] >= 0;
        snprintf(names[i], sizeof names[i], "/proc/self/fd/%d", fds[i]);
        paths[i] = names[i];
    }
    sl_error err = SL_ERROR_INIT;
    sl_fleet *fleet;
    if (are_made &&
        sl_fleet_read(paths, RANKS, &(sl_fleet_options){.thread_cnt = 1}, &fleet, &err) == SL_OK) {
        view(fleet);
        sl_fleet_free(fleet);
    }
    for (int i = 0; i < RANKS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > SIZE_MAX_BYTES)
        return 0;
    uint8_t *copy = slog_copy(data, size);
    if (!copy)
        return 0;
    merge(copy, size);
    free(copy);
    return 0;
}
