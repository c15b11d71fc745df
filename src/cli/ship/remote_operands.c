/* SPDX-License-Identifier: MIT */
#include "cli/ship/remote_operands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/stop_signals.h"
#include "cli/ship/ship_cache.h"
#include "ship/ship_fetch.h"

#define TRIES 5

/* What the operands point to, as long as the process lives. */
static SL_VEC(char *) folders;

static void complain(void *self, const char *text) {
    SL_UNUSED(self);
    sl_cli_complain("skipped: %s", text);
}

/* "s3/0123456789abcdef/run": the server and the prefix are part of the name, because two of them may
 * have a run of this name. */
static sl_status make_folder(const char *place, const char *run, char path[SL_SHIP_CACHE_CAP],
                             sl_error *err) {
    static const char *const names[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
    char hex[SL_SHA256_HEX_CAP], below[SL_SHIP_NAME_CAP + 32];
    sl_sha256 sha;
    sl_sha256_init(&sha);
    sl_sha256_add(&sha, place, strlen(place));
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (getenv(names[i]))
            sl_sha256_add(&sha, getenv(names[i]), strlen(getenv(names[i])));
    sl_sha256_hex(&sha, hex);
    snprintf(below, sizeof below, "s3/%.16s/%s", hex, run);
    return sl_ship_cache(below, path, err);
}

static sl_status fetch_into(const char *place, const char *run, const char *folder, sl_error *err) {
    sl_ship_target_options options = {
        .state_folder = folder,
        .ca_file = getenv("AWS_CA_BUNDLE"),
        .patience = {.try_cnt = TRIES, .stop = sl_stop_signals_hold()},
    };
    sl_ship_fetch fetch = {.folder = folder, .tell = complain};
    sl_ship_target *target;
    sl_status status = sl_ship_target_open(&target, place, &options, err);
    if (status == SL_OK)
        status = sl_ship_fetch_run(target, run, &fetch, err);
    sl_ship_target_close(target);
    sl_stop_signals_release();
    sl_stop_signals_obey();
    return status;
}

static sl_status fetch(const char *where, char **folder, sl_error *err) {
    char place[SL_SHIP_PLACE_CAP], run[SL_SHIP_NAME_CAP], path[SL_SHIP_CACHE_CAP];
    signal(SIGPIPE, SIG_IGN);
    SL_TRY(sl_ship_split(where, place, run, err));
    SL_TRY(make_folder(place, run, path, err));
    if (fetch_into(place, run, path, err) < 0)
        return sl_error_prefix(err, "cannot fetch '%s'", where);
    if (!sl_vec_push(&folders, NULL) || !(folders.at[folders.cnt - 1] = strdup(path)))
        return sl_fail_no_memory(err, "a path");
    *folder = folders.at[folders.cnt - 1];
    return SL_OK;
}

sl_status sl_remote_operands(sl_opts *opts, sl_error *err) {
    for (size_t i = 0; i < opts->operands.cnt; i++) {
        char *folder;
        if (!sl_ship_is_remote(opts->operands.at[i]))
            continue;
        SL_TRY(fetch(opts->operands.at[i], &folder, err));
        opts->operands.at[i] = folder;
    }
    return SL_OK;
}
